// SPDX-License-Identifier: Apache-2.0
// For devices that hand their work to another device. The work refers to the device it was
// submitted to, and the other device may still have the work when that one is destroyed.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "devices/device.h"

namespace motley {

// Lets a destructor wait for work that another device is running, and prevents work that has not
// begun from running. For devices that run one piece of work at a time.
class WorkGate {
 public:
  // The work's thread. If this returns true, Leave must follow.
  bool Enter() {
    int expected = kOpen;
    return state_.compare_exchange_strong(expected, kInside);
  }
  void Leave() {
    state_ = kOpen;
    state_.notify_all();
  }
  // Any other thread. When it returns, no work is running and none will start.
  void Close() {
    for (int expected = kOpen; !state_.compare_exchange_strong(expected, kClosed);
         expected = kOpen) {
      state_.wait(kInside);
    }
  }

 private:
  enum : int { kOpen, kInside, kClosed };
  std::atomic<int> state_{kOpen};
};

// Wraps `work` in the gate; it returns kCancelled if the gate is closed.
inline Device::Work Gated(std::shared_ptr<WorkGate> gate, Device::Work work) {
  return [gate = std::move(gate), work = std::move(work)]() -> Status {
    if (!gate->Enter()) return Status::Cancelled("the device was destroyed");
    struct Exit {
      WorkGate& gate;
      ~Exit() { gate.Leave(); }
    } exit{*gate};
    return work();
  };
}

}  // namespace motley
