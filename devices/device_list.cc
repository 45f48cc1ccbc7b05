// SPDX-License-Identifier: Apache-2.0
#include "devices/device_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "base/host.h"
#include "devices/cpu/cpu_device.h"
#include "devices/drivers/accelerators.h"
#include "devices/drivers/driver_aborts.h"
#include "devices/drivers/driver_modules.h"
#include "devices/drivers/modules.h"
#include "devices/host_device.h"

namespace motley {
namespace {

ListedDevice TheCpu() {
  ListedDevice device{.driver = "cpu",
                      .name = "cpu",
                      .kind = DeviceKind::kCpu,
                      .memory_bytes = HostMemoryBytes(),
                      .units = CpuThreads(),
                      .is_processor = true};
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.kernels != nullptr) {
      device.platform = fmt::format("kernels {}", module.name);
      device.reason.clear();
      break;
    }
    device.reason += (device.reason.empty() ? "" : "; ") + module.reason;
  }
  device.make = [](Loop& loop, uint32_t threads) {
    return MakeCpuDevice(loop, {.threads = threads});
  };
  return device;
}

// The folder of compiled kernels; empty if there is none.
std::string KernelsFolder() {
  if (CacheFolder().empty()) return "";
  const std::string folder = CacheFolder() + "/kernels";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? "" : folder;
}

void AppendDevices(const DriverModule& module, std::vector<ListedDevice>& list) {
  std::string why = module.reason;
  std::vector<motley_driver_device> devices;
  if (module.driver != nullptr) devices = FindDriverDevices(*module.driver, why);
  if (devices.empty()) list.push_back({.driver = module.name, .reason = why});
  uint32_t index = 0;
  for (const motley_driver_device& found : devices) {
    list.push_back({.driver = module.name,
                    .index = index++,
                    .name = found.name,
                    .platform = found.platform,
                    .kind = static_cast<DeviceKind>(found.kind),
                    .memory_bytes = found.memory_bytes,
                    .units = found.units,
                    .is_processor = found.is_processor != 0,
                    .reason = found.reason,
                    .make =
                        [driver = module.driver, found](Loop& loop, uint32_t) {
                          return MakeDriverDevice(loop, *driver, found, KernelsFolder());
                        },
                    .ended = [driver = module.driver] { return DriverEnded(driver->name); }});
  }
}

// Lists the devices of drivers that are `needed`; the others get an entry without a device.
std::vector<ListedDevice> List(const std::function<bool(std::string_view driver)>& needed) {
  std::vector<ListedDevice> list = {TheCpu()};
  for (const std::string_view name : DriverNames()) {
    if (!needed(name)) {
      list.push_back({.driver = std::string(name), .reason = "its driver was not loaded"});
      continue;
    }
    AppendDevices(LoadDriverModule(name, ModuleFolders()), list);
  }
  return list;
}

std::vector<std::string_view> Split(std::string_view text, const char* at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find_first_of(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// A driver with an optional index: "opencl" or "cuda:0".
struct Wanted {
  std::string_view driver;
  std::optional<uint32_t> index;
};
Result<Wanted> Parse(std::string_view word, const std::string& choice) {
  if (word.empty()) {
    return Status::InvalidArgument(fmt::format(
        "'{}' has an empty name beside a comma or a plus; give drivers or devices "
        "with commas, as in cpu,opencl,cuda:0, and join those of one worker with a plus, as in "
        "cuda:0+cuda:1",
        choice));
  }
  const size_t colon = word.find(':');
  Wanted wanted{.driver = word.substr(0, colon)};
  if (colon == std::string_view::npos) return wanted;
  const std::string_view digits = word.substr(colon + 1);
  uint32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Status::InvalidArgument(fmt::format(
        "in '{}', '{}' is not a device number; numbers count from 0, as in cuda:0; see motley "
        "devices",
        choice, digits));
  }
  wanted.index = index;
  return wanted;
}

// The usable devices that `wanted` names, or an error with the reasons if there are none.
Result<std::vector<ListedDevice>> Matching(const std::vector<ListedDevice>& list,
                                           std::string_view word, const Wanted& wanted) {
  std::vector<ListedDevice> usable;
  std::vector<std::string> reasons;
  std::set<std::string> drivers;
  for (const ListedDevice& device : list) {
    drivers.insert(device.driver);
    if (device.driver != wanted.driver) continue;
    if (wanted.index && device.make && device.index != *wanted.index) continue;
    if (device.make && device.reason.empty()) usable.push_back(device);
    if (!device.reason.empty()) reasons.push_back(device.reason);
  }
  if (!usable.empty()) return usable;
  if (!drivers.contains(std::string(wanted.driver))) {
    return Status::InvalidArgument(fmt::format("there is no driver '{}'; the drivers are {}",
                                               wanted.driver, fmt::join(drivers, ", ")));
  }
  if (reasons.empty()) reasons.push_back("there is no device with that number");
  return Status::Unavailable(fmt::format("cannot use the device '{}': {}; see motley devices", word,
                                         fmt::join(reasons, "; ")));
}

// Groups may share a device, but no group may be listed twice.
Status CheckOnce(const std::vector<DeviceGroup>& groups, const std::string& choice) {
  std::set<std::string> labels;
  for (const DeviceGroup& group : groups) {
    if (labels.insert(group.Label()).second) continue;
    return Status::InvalidArgument(
        fmt::format("'{}' names the device {} twice", choice, group.Label()));
  }
  return Status::Ok();
}

}  // namespace

std::string ListedDevice::Label() const { return fmt::format("{}:{}", driver, index); }

std::string DeviceGroup::Label() const {
  std::string label;
  for (const ListedDevice& d : devices) label += (label.empty() ? "" : "+") + d.Label();
  return label;
}

std::string DeviceGroup::Names() const {
  std::string names;
  for (const ListedDevice& d : devices) names += (names.empty() ? "" : " + ") + d.name;
  return names;
}

bool DeviceGroup::is_processor() const {
  return std::all_of(devices.begin(), devices.end(), [](const auto& d) { return d.is_processor; });
}

uint64_t DeviceGroup::memory_bytes() const {
  uint64_t own = 0, host = 0;
  for (const ListedDevice& device : devices) {
    if (device.is_processor) {
      host = std::max(host, device.memory_bytes);
    } else {
      own += device.memory_bytes;
    }
  }
  return own + host;
}

std::vector<ListedDevice> ListDevices() {
  return List([](std::string_view) { return true; });
}

std::vector<ListedDevice> DefaultDevices(const std::vector<ListedDevice>& list) {
  std::vector<ListedDevice> taken;
  for (const ListedDevice& device : list) {
    const bool again = device.driver != "cpu" && device.is_processor;
    const bool twice = std::any_of(taken.begin(), taken.end(), [&device](const auto& other) {
      return other.name == device.name && other.driver != device.driver;
    });
    if (device.usable() && !again && !twice) taken.push_back(device);
  }
  return taken;
}

Result<std::vector<ListedDevice>> DefaultDevices() {
  const bool look = AnyAccelerator();
  const std::vector<ListedDevice> list = List([look](std::string_view) { return look; });
  std::vector<ListedDevice> defaults = DefaultDevices(list);
  if (defaults.empty()) return NoUsableDevice(list);
  return defaults;
}

Status NoUsableDevice(const std::vector<ListedDevice>& list) {
  std::vector<std::string> reasons;
  for (const ListedDevice& device : list) {
    if (device.reason.empty()) continue;
    reasons.push_back(
        fmt::format("{}: {}", device.make ? device.Label() : device.driver, device.reason));
  }
  return Status::Unavailable(
      fmt::format("no device of this machine can be used: {}; see motley "
                  "devices",
                  fmt::join(reasons, "; ")));
}

Result<std::vector<DeviceGroup>> ChooseDevices(const std::string& choice) {
  const std::string chosen = choice.empty() ? "cpu" : choice;
  const auto named = [words = Split(chosen, ",+")](std::string_view driver) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
      return word.substr(0, word.find(':')) == driver;
    });
  };
  return ChooseDevices(List(named), chosen);
}

Result<std::vector<DeviceGroup>> ChooseDevices(const std::vector<ListedDevice>& list,
                                               const std::string& choice) {
  std::vector<DeviceGroup> chosen;
  for (const std::string_view group : Split(choice, ",")) {
    const std::vector<std::string_view> words = Split(group, "+");
    DeviceGroup joined;
    for (const std::string_view word : words) {
      MOTLEY_ASSIGN_OR_RETURN(const Wanted wanted, Parse(word, choice));
      MOTLEY_ASSIGN_OR_RETURN(const std::vector<ListedDevice> found, Matching(list, word, wanted));
      joined.devices.insert(joined.devices.end(), found.begin(), found.end());
    }
    MOTLEY_RETURN_IF_ERROR(CheckOnce(EachAlone(joined.devices), choice));
    if (words.size() > 1) {
      chosen.push_back(std::move(joined));
    } else {
      for (DeviceGroup& alone : EachAlone(joined.devices)) chosen.push_back(std::move(alone));
    }
  }
  MOTLEY_RETURN_IF_ERROR(CheckOnce(chosen, choice));
  return chosen;
}

std::vector<DeviceGroup> EachAlone(const std::vector<ListedDevice>& devices) {
  std::vector<DeviceGroup> groups;
  for (const ListedDevice& device : devices) groups.push_back({{device}});
  return groups;
}

}  // namespace motley
