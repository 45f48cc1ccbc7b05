// SPDX-License-Identifier: Apache-2.0
#include "devices/joined_device.h"

#include <utility>

#include "base/assert.h"

namespace motley {

JoinedDevice::JoinedDevice(Device& host, std::vector<Device*> parts, uint64_t memory_bytes)
    : ForwardingDevice(host), parts_(std::move(parts)), info_(host.info()) {
  MOTLEY_ASSERT(parts_.size() > 1);
  info_.name.clear();
  info_.memory_bytes = memory_bytes;
  for (const Device* part : parts_) {
    info_.name += (info_.name.empty() ? "" : " + ") + part->info().name;
    if (part->info().kind != DeviceKind::kCpu) info_.kind = part->info().kind;
  }
}

}  // namespace motley
