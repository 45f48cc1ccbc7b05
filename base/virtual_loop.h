// SPDX-License-Identifier: Apache-2.0
// A Loop whose time jumps to the next timer: a thousand simulated seconds in one real one.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "base/loop.h"

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

  size_t pending() const { return queue_.size(); }
  uint64_t tasks_run() const { return tasks_run_; }

 private:
  using Key = std::pair<Time, TimerId>;
  Time now_{};
  TimerId next_id_ = 1;
  uint64_t tasks_run_ = 0;
  std::map<Key, Task> queue_;
  std::unordered_map<TimerId, Time> due_;  // Only looked up, never iterated.
};

}  // namespace motley
