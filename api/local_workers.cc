// SPDX-License-Identifier: Apache-2.0
#include "api/local_workers.h"

#include <fmt/format.h>

namespace motley {

std::string WorkerName(int32_t index, const ListedDevice& device) {
  const std::string name = index < 0 ? "worker" : fmt::format("worker-{}", index);
  return device.kind == DeviceKind::kCpu ? name : fmt::format("{} {}", name, device.Label());
}

}  // namespace motley
