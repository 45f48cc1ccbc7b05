// SPDX-License-Identifier: Apache-2.0
// A device with as little memory as the test sets. Its measured work fails if the test wants that.
#pragma once

#include <utility>

#include "devices/forwarding_device.h"

namespace motley {

class OddDevice : public ForwardingDevice<> {
 public:
  explicit OddDevice(Device& inner) : ForwardingDevice(inner), info_(inner.info()) {}

  void SetMemory(uint64_t bytes) { info_.memory_bytes = bytes; }
  // Gives the device separate memory of this size instead of the host's.
  void SetCard(uint64_t bytes) {
    SetMemory(bytes);
    card_ = true;
  }
  // All work of at least one sample ends with this status. A server's only such work is audits.
  void FailSamples(Status why) { failure_ = std::move(why); }

  const DeviceInfo& info() const override { return info_; }
  bool host_accessible() const override { return !card_ && ForwardingDevice::host_accessible(); }
  void Submit(double units, Work work, Done done) override {
    if (units > 0 && !failure_.ok()) work = [why = failure_] { return why; };
    inner_.Submit(units, std::move(work), std::move(done));
  }

 private:
  DeviceInfo info_;
  bool card_ = false;
  Status failure_;
};

}  // namespace motley
