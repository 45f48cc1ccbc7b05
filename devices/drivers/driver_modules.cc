// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/driver_modules.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <string_view>

#include "base/device_kind.h"
#include "devices/drivers/driver_aborts.h"
#include "devices/drivers/kept_signals.h"
#include "devices/drivers/modules.h"

namespace motley {

namespace {

// While this object lives, libraries of drivers are used by this thread alone, and signal handlers
// are restored at the end. The libraries may not expect several threads there, and with several it
// would be unclear which handlers to restore.
class DriversTurn {
 private:
  static std::mutex& Mutex() {
    static std::mutex mutex;
    return mutex;
  }
  const std::lock_guard<std::mutex> lock_{Mutex()};
  const KeptSignals kept_;
};

}  // namespace

std::vector<std::string_view> DriverNames() {
  std::vector<std::string_view> names;
  for (const NamedDeviceKind& each : kDeviceKinds) {
    if (each.kind != DeviceKind::kCpu) names.push_back(each.name);
  }
  return names;
}

DriverModule LoadDriverModule(std::string_view name, const std::vector<std::string>& folders) {
  DriverModule loaded{.name = std::string(name)};
  const DriversTurn turn;
  const Module module = LoadModule(fmt::format("motley-{}.so", name), folders);
  if (module.library == nullptr) {
    loaded.reason =
        module.path.empty() ? "this build has no such driver: " + module.reason : module.reason;
    return loaded;
  }
  const auto entry =
      reinterpret_cast<motley_driver_entry>(dlsym(module.library, MOTLEY_DRIVER_SYMBOL));
  const motley_driver* driver = entry == nullptr ? nullptr : entry(MOTLEY_DRIVER_VERSION);
  if (driver == nullptr || driver->version != MOTLEY_DRIVER_VERSION ||
      driver->struct_size < sizeof(motley_driver)) {
    loaded.reason = fmt::format(
        "cannot use {}: it is not a driver of version {} for kernels of version {}; rebuild it "
        "together with the program",
        module.path, MOTLEY_DRIVER_VERSION / 1000, MOTLEY_KERNELS_VERSION);
    dlclose(module.library);
    return loaded;
  }
  loaded.driver = driver;
  return loaded;
}

std::vector<motley_driver_device> FindDriverDevices(const motley_driver& driver,
                                                    std::string& reason) {
  const DriversTurn turn;
  const StartsDriverThreads looking(driver.name);
  std::array<char, 512> why{};
  std::vector<motley_driver_device> devices(driver.find(why.data(), why.size()));
  if (devices.empty()) reason = why.data();
  for (size_t index = 0; index < devices.size(); ++index) driver.describe(index, &devices[index]);
  return devices;
}

}  // namespace motley
