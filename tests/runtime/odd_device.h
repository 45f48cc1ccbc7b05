// SPDX-License-Identifier: Apache-2.0
// A device that has as little memory as the test says, and whose measured work fails if it says so.
#pragma once

#include <utility>

#include "devices/paced_device.h"

namespace motley {

class OddDevice : public Device {
 public:
  explicit OddDevice(Device& inner) : inner_(inner), info_(inner.info()) {}

  void SetMemory(uint64_t bytes) { info_.memory_bytes = bytes; }
  // All work of at least one sample ends with this; at a server that is audits.
  void FailSamples(Status why) { failure_ = std::move(why); }

  const DeviceInfo& info() const override { return info_; }
  const motley_kernels& kernels() const override { return inner_.kernels(); }
  void* queue() const override { return inner_.queue(); }
  bool host_accessible() const override { return inner_.host_accessible(); }
  Result<Buffer> Allocate(size_t size_bytes) override { return inner_.Allocate(size_bytes); }
  Status CopyIn(const Buffer& to, size_t offset, BytesView from) override {
    return inner_.CopyIn(to, offset, from);
  }
  Status CopyOut(const Buffer& from, size_t offset, std::span<std::byte> to) override {
    return inner_.CopyOut(from, offset, to);
  }
  void Submit(double units, Work work, Done done) override {
    if (units > 0 && !failure_.ok()) work = [why = failure_] { return why; };
    inner_.Submit(units, std::move(work), std::move(done));
  }
  ParallelFor& parallel() override { return inner_.parallel(); }

 private:
  Device& inner_;
  DeviceInfo info_;
  Status failure_;
};

}  // namespace motley
