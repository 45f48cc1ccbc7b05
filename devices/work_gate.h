// SPDX-License-Identifier: Apache-2.0
// For devices that hand their work to another: work refers to the device it was submitted to, and
// the other one may still have it when that is destroyed.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "devices/device.h"

namespace motley {

// Lets a destructor wait for work that another device is running, and keeps what that device has
// not begun from running at all. For devices that run one piece of work after the other.
class WorkGate {
 public:
  // Work's thread. Leave follows when this is true.
  bool Enter() {
    int expected = kOpen;
    return state_.compare_exchange_strong(expected, kInside);
  }
  void Leave() {
    state_ = kOpen;
    state_.notify_all();
  }
  // Any other thread. When it returns no work runs, and none will.
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

// `work` inside of the gate; kCancelled where that is closed already.
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
