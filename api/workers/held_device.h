// SPDX-License-Identifier: Apache-2.0
// A Device whose results can be held back for a while: a paused worker of an all-in-one job.
#pragma once

#include <memory>
#include <vector>

#include "base/loop/loop.h"
#include "devices/forwarding_device.h"
#include "devices/work_gate.h"

namespace motley {

// Loop thread, as Device says. `loop` and `inner` are borrowed.
class HeldDevice final : public ForwardingDevice<> {
 public:
  HeldDevice(Loop& loop, Device& inner) : ForwardingDevice(inner), loop_(loop) {}
  ~HeldDevice() override;  // Waits for what `inner` runs for it; the rest is not begun.

  // Nothing is reported done for `duration`; a later call counts from its own start.
  void Hold(Duration duration);
  void Release();

  void Submit(double units, Work work, Done done) override;

 private:
  Loop& loop_;
  TimerId timer_ = 0;  // 0: not held.
  std::vector<Task> held_;
  const std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
  const std::shared_ptr<WorkGate> gate_ = std::make_shared<WorkGate>();
};

}  // namespace motley
