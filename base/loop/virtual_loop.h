// SPDX-License-Identifier: Apache-2.0
// A Loop with virtual time, which jumps to the next timer: simulating a thousand seconds takes
// about one.
#pragma once

#include <utility>
#include <vector>

#include "base/fifo.h"
#include "base/loop/loop.h"
#include "base/loop/timer_slots.h"

namespace motley {

// Single-threaded: the thread that runs it is the loop thread, and Post is a timer with zero delay.
// Tasks due at the same time run in the order they were set.
class VirtualLoop final : public Loop {
 public:
  // Decides what happens to due tasks: a simulated process may be stopped when one comes.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Runs the task, or moves it away to run it later.
    virtual void OnDue(TimerId id, Task& task) = 0;
  };

  Time Now() const override { return now_; }
  TimerId After(Duration delay, Task task) override {
    return AfterFor(nullptr, delay, std::move(task));
  }
  void Cancel(TimerId id) override { Drop(id); }
  void Post(Task task) override { After(Duration::zero(), std::move(task)); }

  // Sets a timer that belongs to `owner`. The owner may be null, and must outlive the timer.
  TimerId AfterFor(Owner* owner, Duration delay, Task&& task);
  // Like Cancel; returns false when the timer was not waiting any more.
  bool Drop(TimerId id);
  // The ids of this owner's waiting timers, in the order they were set.
  std::vector<TimerId> TimersOf(const Owner* owner);

  // Moves the clock to the next task and runs it. Returns false when there is none.
  bool RunOne();
  // Runs until `done` holds, checked before every task. Returns false if no task is left before
  // that.
  template <typename Condition>
  bool RunUntil(Condition done) {
    while (!done()) {
      if (!RunOne()) return false;
    }
    return true;
  }
  // Runs every task due by `until`, and leaves the clock at `until`.
  void RunUntilTime(Time until);

  size_t pending() const { return tasks_.size() + at_once_pending_; }
  uint64_t tasks_run() const { return tasks_run_; }

 private:
  struct Waiting {
    Task task;  // Empty: cancelled (at_once_ only).
    Owner* owner = nullptr;
  };
  struct Due {
    Time time;
    TimerId id;  // Grows with every timer.
    bool operator>(const Due& other) const {
      return time != other.time ? time > other.time : id > other.id;
    }
  };
  // The queue with the next task, which is at its front and was not cancelled.
  enum class Queue { kNothing, kTimers, kAtOnce };
  Queue Next();
  Waiting TakeTimer(TimerId& id);
  Waiting TakeAtOnce(TimerId& id);
  bool DropAtOnce(TimerId id);
  void DropCancelled();

  Time now_{};
  uint64_t tasks_run_ = 0;
  TimerSlots<Waiting> tasks_;
  // A heap, the earliest in front. Cancelled timers stay in it until they come up.
  std::vector<Due> due_;
  // Timers set with no delay, which is most of them. They run after all heap timers that are due at
  // the present time. Their ids are consecutive numbers from kAtOnce up.
  static constexpr TimerId kAtOnce = TimerId{1} << 63;
  Fifo<Waiting> at_once_;
  TimerId first_at_once_ = kAtOnce;  // The id of the item in front.
  size_t at_once_pending_ = 0;       // Items in at_once_ that were not cancelled.
};

}  // namespace motley
