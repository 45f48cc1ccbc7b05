// SPDX-License-Identifier: Apache-2.0
// A Loop whose time jumps to the next timer: a thousand simulated seconds in one real one.
#pragma once

#include <utility>
#include <vector>

#include "base/fifo.h"
#include "base/loop/loop.h"
#include "base/loop/timer_slots.h"

namespace motley {

// Single-threaded: the thread that runs it is the loop thread, and Post counts as a timer of zero.
// Tasks that are due at the same time run in the order they were set.
class VirtualLoop final : public Loop {
 public:
  // Somebody who decides what becomes of tasks that are due: a process that may be stopped.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Runs the task, or takes it.
    virtual void OnDue(TimerId id, Task& task) = 0;
  };

  Time Now() const override { return now_; }
  TimerId After(Duration delay, Task task) override {
    return AfterFor(nullptr, delay, std::move(task));
  }
  void Cancel(TimerId id) override { Drop(id); }
  void Post(Task task) override { After(Duration::zero(), std::move(task)); }

  // `owner`, if any, outlives the timer.
  TimerId AfterFor(Owner* owner, Duration delay, Task&& task);
  // Cancel; false when it was not waiting any more.
  bool Drop(TimerId id);
  // Timers that wait and are this owner's, in the order they were set.
  std::vector<TimerId> TimersOf(const Owner* owner);

  // Runs the next task, after moving the clock to it. False when there is none.
  bool RunOne();
  // Runs until nothing is left or `done` (asked after every task) holds; false in the former case.
  template <typename Condition>
  bool RunUntil(Condition done) {
    while (!done()) {
      if (!RunOne()) return false;
    }
    return true;
  }
  // Runs everything due up to `until` and leaves the clock there.
  void RunUntilTime(Time until);

  size_t pending() const { return tasks_.size() + at_once_pending_; }
  uint64_t tasks_run() const { return tasks_run_; }

 private:
  struct Waiting {
    Task task;  // Empty when it was cancelled, of those due at once.
    Owner* owner = nullptr;
  };
  struct Due {
    Time time;
    TimerId id;  // Grows with every timer.
    bool operator>(const Due& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };
  // Where the next task is that was not cancelled: the first there.
  enum class Queue { kNothing, kTimers, kAtOnce };
  Queue Next();
  Waiting TakeTimer(TimerId& id);
  Waiting TakeAtOnce(TimerId& id);
  bool DropAtOnce(TimerId id);
  void DropCancelled();

  Time now_{};
  uint64_t tasks_run_ = 0;
  TimerSlots<Waiting> tasks_;
  // A heap, the next one in front. Cancelled ones stay until they are met.
  std::vector<Due> due_;
  // Due at once when they were set, and so after all in the heap that are due by now. Mostly no
  // time passes between a cause and its effect. Their ids are numbers that grow, with kAtOnce.
  static constexpr TimerId kAtOnce = TimerId{1} << 63;
  Fifo<Waiting> at_once_;
  TimerId first_at_once_ = kAtOnce;  // The first one's id.
  size_t at_once_pending_ = 0;       // Those not cancelled.
};

}  // namespace motley
