// SPDX-License-Identifier: Apache-2.0
// A Device whose results can be held back for a while: a paused worker of an all-in-one job.
#pragma once

#include <memory>
#include <vector>

#include "base/loop.h"
#include "devices/device.h"
#include "devices/work_gate.h"

namespace motley {

// Loop thread, as Device says. `loop` and `inner` are borrowed.
class HeldDevice final : public Device {
 public:
  HeldDevice(Loop& loop, Device& inner) : loop_(loop), inner_(inner) {}
  ~HeldDevice() override;  // Waits for what `inner` runs for it; the rest is not begun.

  // Nothing is reported done for `duration`; a later call counts from its own start.
  void Hold(Duration duration);
  void Release();

  const DeviceInfo& info() const override { return inner_.info(); }
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
  ParallelFor& parallel() override { return inner_.parallel(); }
  void Submit(double units, Work work, Done done) override;

 private:
  Loop& loop_;
  Device& inner_;
  TimerId timer_ = 0;  // 0: not held.
  std::vector<Task> held_;
  const std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
  const std::shared_ptr<WorkGate> gate_ = std::make_shared<WorkGate>();
};

}  // namespace motley
