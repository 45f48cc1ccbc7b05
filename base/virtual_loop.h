// SPDX-License-Identifier: Apache-2.0
// A Loop whose time jumps to the next timer: a thousand simulated seconds in one real one.
#pragma once

#include <vector>

#include "base/loop.h"
#include "base/timer_slots.h"

namespace motley {

// Single-threaded: the thread that runs it is the loop thread, and Post counts as a timer of zero.
// Tasks that are due at the same time run in the order they were set.
class VirtualLoop final : public Loop {
 public:
  Time Now() const override { return now_; }
  TimerId After(Duration delay, Task task) override;
  void Cancel(TimerId id) override;
  void Post(Task task) override { After(Duration::zero(), std::move(task)); }

  // Runs the next task, after moving the clock to it. False when there is none.
  bool RunOne();
  // Runs until nothing is left or `done` (asked after every task) holds; false in the former case.
  bool RunUntil(const std::function<bool()>& done);
  // Runs everything due up to `until` and leaves the clock there.
  void RunUntilTime(Time until);

  size_t pending() const { return tasks_.size(); }
  uint64_t tasks_run() const { return tasks_run_; }

 private:
  struct Due {
    Time time;
    TimerId id;  // Grows with every timer.
    bool operator>(const Due& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };
  // The next task that was not cancelled; null when there is none.
  const Due* Next();
  void DropCancelled();

  Time now_{};
  uint64_t tasks_run_ = 0;
  TimerSlots<Task> tasks_;
  std::vector<Due> due_;  // A heap, the next one in front. Cancelled ones stay until they are met.
};

}  // namespace motley
