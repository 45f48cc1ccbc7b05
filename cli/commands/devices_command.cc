// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/devices_command.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/machine/device_checks.h"
#include "cli/machine/hardware.h"
#include "cli/report/table.h"
#include "cli/terminal/exit_code.h"
#include "devices/device_list.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

std::string_view KindName(const ListedDevice& device) {
  return device.make ? NameOf(device.kind) : "none";
}

std::string GibText(uint64_t bytes) {
  return bytes == 0 ? "?" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 0x1p30);
}

// Labels of the devices that jobs use by default.
std::set<std::string> DefaultLabels(const std::vector<ListedDevice>& devices) {
  std::set<std::string> labels;
  for (const ListedDevice& device : DefaultDevices(devices)) labels.insert(device.Label());
  return labels;
}

std::string DevicesText(const std::vector<ListedDevice>& devices) {
  Table table({"device", "name", "platform", "memory", "units", "usable", "by default"});
  const std::set<std::string> defaults = DefaultLabels(devices);
  std::string reasons;
  for (const ListedDevice& device : devices) {
    const bool usable = device.usable();
    const std::string label = device.make ? device.Label() : device.driver;
    if (device.make) {
      table.Add({label, device.name, device.platform, GibText(device.memory_bytes),
                 fmt::format("{}", device.units), usable ? "yes" : "no",
                 defaults.contains(label) ? "yes" : "no"});
    }
    if (!usable) reasons += fmt::format("{}: {}\n", label, device.reason);
  }
  return table.Format() + (reasons.empty() ? "" : "\nNot usable here:\n" + reasons);
}

std::string DevicesJson(const std::vector<ListedDevice>& devices) {
  auto list = nlohmann::ordered_json::array();
  const std::set<std::string> defaults = DefaultLabels(devices);
  for (const ListedDevice& device : devices) {
    list.push_back({{"driver", device.driver},
                    {"index", device.index},
                    {"name", device.name},
                    {"platform", device.platform},
                    {"kind", KindName(device)},
                    {"memory_bytes", device.memory_bytes},
                    {"units", device.units},
                    {"usable", device.usable()},
                    {"default", device.make && defaults.contains(device.Label())},
                    {"reason", device.reason}});
  }
  return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// The devices in `choice`, or all usable ones.
Result<std::vector<ListedDevice>> ToCheck(std::vector<ListedDevice> listed,
                                          const std::string& choice) {
  if (!choice.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<DeviceGroup> chosen, ChooseDevices(listed, choice));
    listed.clear();
    for (const DeviceGroup& group : chosen) {
      listed.insert(listed.end(), group.devices.begin(), group.devices.end());
    }
    return listed;
  }
  std::erase_if(listed, [](const ListedDevice& d) { return !d.usable(); });
  return listed;
}

int RunChecks(const std::vector<ListedDevice>& listed, const DevicesFlags& flags) {
  const auto chosen = ToCheck(listed, flags.devices);
  if (!chosen.ok()) return Fail(chosen.status().WithContext("--devices"));
  Phases phases(flags.quiet);
  const std::vector<CheckedDevice> checked = CheckDevices(*chosen, phases);
  const int printed = PrintResult(flags.json ? ChecksJson(checked) : ChecksText(checked));
  if (printed != kExitOk) return printed;
  const bool ok = std::all_of(checked.begin(), checked.end(), [](const auto& d) { return d.ok(); });
  return ok ? kExitOk : kExitFailure;
}

}  // namespace

int RunDevices(const DevicesFlags& flags) {
  std::vector<ListedDevice> devices = ListDevices();
  // The library does not use hwloc, which knows the processor's name.
  if (std::string name = ReadHardware().model; !name.empty()) devices.front().name = name;
  if (const std::string parts = ProcessorParts(); !parts.empty()) {
    devices.front().platform += ", " + parts;
  }
  if (flags.check) return RunChecks(devices, flags);
  return PrintResult(flags.json ? DevicesJson(devices) : DevicesText(devices));
}

}  // namespace motley
