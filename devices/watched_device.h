// SPDX-License-Identifier: Apache-2.0
// Wraps a Device with work that may never return: a kernel that hangs, or a driver that waits for
// hardware that is gone. After a timeout by the loop's clock it fails the work, and from then on
// all work submitted to it.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/loop/loop.h"
#include "devices/forwarding_device.h"

namespace motley {

// How long work may run on a device. The limits are generous, because other workers take over the
// work meanwhile. The limit is `first` for the first piece, in which drivers compile kernels. For
// later pieces it is the largest of `least`, the time of the first piece, and `times` the time of
// the longest later piece.
struct Patience {
  Duration first = std::chrono::minutes(10);
  Duration least = std::chrono::minutes(2);
  double times = 20;
};

// Loop thread, see Device. `loop` and `inner` are borrowed. Once lost(), work may still run inside
// `inner`, which must rest before it is destroyed (Device::Rest).
class WatchedDevice final : public ForwardingDevice<> {
 public:
  // `ended` (optional) is asked regularly while there is work. If it returns an error, `inner` will
  // never report the work, and it fails at once.
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
  // The pieces on the device, in order. The device shares them, because they own what the work
  // refers to.
  std::deque<std::shared_ptr<Piece>> pieces_;
  Time begun_{};        // When the first piece began, or the one before it ended.
  Duration first_{};    // Duration of the first piece, which may include compiling.
  Duration longest_{};  // Duration of the longest later piece.
  bool any_done_ = false;
  int looks_ = 0;  // Looks that found the first piece unfinished.
  TimerId timer_ = 0;
  TimerId ask_timer_ = 0;
  bool lost_ = false;
  Status why_;
  const std::shared_ptr<bool> destroyed_ = std::make_shared<bool>(false);
};

}  // namespace motley
