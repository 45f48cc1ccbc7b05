// SPDX-License-Identifier: Apache-2.0
#include "api/local_workers.h"

#include <fmt/format.h>

namespace motley {

std::string WorkerName(int32_t index, const DeviceGroup& devices) {
  const std::string name = index < 0 ? "worker" : fmt::format("worker-{}", index);
  const bool plain = !devices.joined() && devices.devices.front().kind == DeviceKind::kCpu;
  return plain ? name : fmt::format("{} {}", name, devices.Label());
}

std::vector<DeviceGroup> DevicesOfWorkers(const std::vector<DeviceGroup>& devices, bool named,
                                          uint32_t workers) {
  std::vector<DeviceGroup> each;
  for (size_t worker = 0; worker < workers; ++worker) {
    const bool other = worker + 1 < devices.size();
    each.push_back(named ? devices[worker % devices.size()] : devices[other ? worker + 1 : 0]);
  }
  return each;
}

DeviceGroup DevicesOfOne(const std::vector<ListedDevice>& defaults) {
  if (defaults.size() == 1) return {defaults};
  return {{defaults.begin() + 1, defaults.end()}};
}

Status CheckNotJoined(const std::vector<DeviceGroup>& devices) {
  for (const DeviceGroup& group : devices) {
    if (!group.joined()) continue;
    return Status::InvalidArgument(fmt::format(
        "a trainer of the program's own computes on one device per worker, and {} are joined: put "
        "commas between them",
        group.Label()));
  }
  return Status::Ok();
}

}  // namespace motley
