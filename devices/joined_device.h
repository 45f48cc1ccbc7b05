// SPDX-License-Identifier: Apache-2.0
// Several devices of a machine that compute as one worker. Work that knows about the parts submits
// to them; each part has a queue of its own. All other work (arithmetic on the host's memory) runs
// on the host's processor.
#pragma once

#include <utility>
#include <vector>

#include "devices/forwarding_device.h"

namespace motley {

// Loop thread, see Device. `host` (which may be one of the parts) and `parts` (two or more) are
// borrowed. info() describes all parts together, with `memory_bytes` as given by the caller.
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
