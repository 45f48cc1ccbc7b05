// SPDX-License-Identifier: Apache-2.0
#include "api/local_workers.h"

#include <fmt/format.h>

namespace motley {

std::string WorkerName(int32_t index, const ListedDevice& device) {
  const std::string name = index < 0 ? "worker" : fmt::format("worker-{}", index);
  return device.kind == DeviceKind::kCpu ? name : fmt::format("{} {}", name, device.Label());
}

std::vector<ListedDevice> DevicesOfWorkers(const std::vector<ListedDevice>& devices, bool named,
                                           uint32_t workers) {
  std::vector<ListedDevice> each;
  for (size_t worker = 0; worker < workers; ++worker) {
    const bool other = worker + 1 < devices.size();
    each.push_back(named ? devices[worker % devices.size()] : devices[other ? worker + 1 : 0]);
  }
  return each;
}

}  // namespace motley
