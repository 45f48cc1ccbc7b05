// SPDX-License-Identifier: Apache-2.0
// Several devices of a machine that compute as one worker. Work that knows of them goes to its
// parts, each a device with a queue of its own; the rest (arithmetic on the host's memory) to the
// host's processor.
#pragma once

#include <utility>
#include <vector>

#include "devices/forwarding_device.h"

namespace motley {

// Loop thread, as Device says. `host`, which may be one of the parts, and `parts` (two or more) are
// borrowed. Its info is of them all; `memory_bytes` is theirs together, which the caller knows.
class JoinedDevice final : public ForwardingDevice<> {
 public:
  JoinedDevice(Device& host, std::vector<Device*> parts, uint64_t memory_bytes);

  const DeviceInfo& info() const override { return info_; }
  std::span<Device* const> parts() const override { return parts_; }
  void Submit(double units, Work work, Done done) override {
    inner_.Submit(units, std::move(work), std::move(done));
  }

 private:
  const std::vector<Device*> parts_;
  DeviceInfo info_;
};

}  // namespace motley
