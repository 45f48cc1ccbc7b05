// SPDX-License-Identifier: Apache-2.0
#include "devices/driver_modules.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string_view>

#include "devices/modules.h"

namespace motley {

std::span<const std::string_view> DriverNames() {
  static constexpr std::string_view kDrivers[] = {"cuda", "opencl"};
  return kDrivers;
}

DriverModule LoadDriverModule(std::string_view name, const std::vector<std::string>& folders) {
  DriverModule loaded{.name = std::string(name)};
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
        "cannot use {}: it is no driver of version {}: rebuild it together with the program",
        module.path, MOTLEY_DRIVER_VERSION);
    dlclose(module.library);
    return loaded;
  }
  loaded.driver = driver;
  return loaded;
}

}  // namespace motley
