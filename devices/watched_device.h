// SPDX-License-Identifier: Apache-2.0
// A Device in front of one whose work may never come back: a kernel that hangs, a driver that waits
// for hardware that is gone. After a while by the loop's clock it says so in the work's place, and
// from then on to whatever is submitted.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/loop/loop.h"
#include "devices/forwarding_device.h"

namespace motley {

// For how long work may be on a device. Generous: whoever shares the work goes on without it.
struct Patience {
  Duration first = std::chrono::minutes(10);  // Drivers compile kernels in the first piece.
  Duration least = std::chrono::minutes(2);   // For those after it, or as long as that one took,
  double times = 20;                          // or so often as long as the longest of the others.
};

// Loop thread, as Device says. `loop` and `inner` are borrowed. Once lost(), work may be inside of
// `inner` still: it must rest before it can be destroyed (Device::Rest).
class WatchedDevice final : public ForwardingDevice<> {
 public:
  // `ended` (optional) is asked while there is work: not fine when `inner` will never report it,
  // which is then not waited for.
  WatchedDevice(Loop& loop, Device& inner, Patience patience,
                std::function<Status()> ended = nullptr);
  ~WatchedDevice() override;

  void Submit(double units, Work work, Done done) override;
  void PostFromWork(Task task) override;
  bool lost() const { return lost_; }

 private:
  struct Piece {
    double units = 0;
    Done done;
  };
  void OnDone(Status status);
  void Watch();
  void Look();
  void AskEnded();
  void LoseSlow();
  void Lose(Status why);
  Duration Limit() const;

  Loop& loop_;
  const Patience patience_;
  const std::function<Status()> ended_;
  // On the device, in order. Shared with it: what they keep is what the work refers to.
  std::deque<std::shared_ptr<Piece>> pieces_;
  Time begun_{};        // The first of them, or when the one before it came back.
  Duration first_{};    // That one took, and perhaps compiled kernels;
  Duration longest_{};  // those after it.
  bool any_done_ = false;
  int looks_ = 0;  // That found the first of them not done.
  TimerId timer_ = 0;
  TimerId ask_timer_ = 0;
  bool lost_ = false;
  Status why_;
  const std::shared_ptr<bool> destroyed_ = std::make_shared<bool>(false);
};

}  // namespace motley
