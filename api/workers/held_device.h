// SPDX-License-Identifier: Apache-2.0
// A Device whose results can be held back for a while, for paused workers of all-in-one jobs.
#pragma once

#include <memory>
#include <vector>

#include "base/loop/loop.h"
#include "devices/forwarding_device.h"
#include "devices/work_gate.h"

namespace motley {

// Loop thread, like every Device.
class HeldDevice final : public ForwardingDevice<> {
 public:
  HeldDevice(Loop& loop, Device& inner) : ForwardingDevice(inner), loop_(loop) {}
  ~HeldDevice() override;  // Waits for work that `inner` has begun; drops the rest.

  // Reports no work as done for `duration`. A later call replaces an earlier one.
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
