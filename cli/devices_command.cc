// SPDX-License-Identifier: Apache-2.0
#include "cli/devices_command.h"

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/hardware.h"
#include "cli/table.h"
#include "devices/device_list.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

const char* KindName(const ListedDevice& device) {
  if (!device.make) return "none";
  switch (device.kind) {
    case DeviceKind::kCpu: return "cpu";
    case DeviceKind::kCuda: return "cuda";
    case DeviceKind::kOpenCl: return "opencl";
  }
  return "unknown";
}

std::string GibText(uint64_t bytes) {
  return bytes == 0 ? "?" : fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 0x1p30);
}

std::string DevicesText(const std::vector<ListedDevice>& devices) {
  Table table({"device", "name", "platform", "memory", "units", "usable"});
  std::string reasons;
  for (const ListedDevice& device : devices) {
    const bool usable = device.make && device.reason.empty();
    const std::string label = device.make ? device.Label() : device.driver;
    if (device.make) {
      table.Add({label, device.name, device.platform, GibText(device.memory_bytes),
                 fmt::format("{}", device.units), usable ? "yes" : "no"});
    }
    if (!usable) reasons += fmt::format("{}: {}\n", label, device.reason);
  }
  return table.Format() + (reasons.empty() ? "" : "\nNot usable here:\n" + reasons);
}

std::string DevicesJson(const std::vector<ListedDevice>& devices) {
  auto list = nlohmann::ordered_json::array();
  for (const ListedDevice& device : devices) {
    list.push_back({{"driver", device.driver},
                    {"index", device.index},
                    {"name", device.name},
                    {"platform", device.platform},
                    {"kind", KindName(device)},
                    {"memory_bytes", device.memory_bytes},
                    {"units", device.units},
                    {"usable", device.make && device.reason.empty()},
                    {"reason", device.reason}});
  }
  return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int RunDevices(const DevicesFlags& flags) {
  std::vector<ListedDevice> devices = ListDevices();
  // hwloc, which knows what the processor is called, is the program's alone.
  if (std::string name = ReadHardware().model; !name.empty()) devices.front().name = name;
  return PrintResult(flags.json ? DevicesJson(devices) : DevicesText(devices));
}

}  // namespace motley
