// SPDX-License-Identifier: Apache-2.0
// A Loop for tests with real threads and no clock. The test's own thread runs what is posted. Time
// moves only to the next timer, when no task is left and no thread is expected to post.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/loop/virtual_loop.h"

namespace motley {

class ThreadLoop final : public Loop {
 public:
  Time Now() const override { return timers_.Now(); }
  TimerId After(Duration delay, Task task) override {
    return timers_.After(delay, std::move(task));
  }
  void Cancel(TimerId id) override { timers_.Cancel(id); }
  void Post(Task task) override {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

  // Waits for tasks that other threads post, until `condition` holds.
  void RunUntil(const std::function<bool()>& condition) {
    while (!condition()) {
      if (!RunPosted() && !timers_.RunOne()) Wait();
    }
  }
  // The same while time stands still, for tests in which other threads would appear late.
  void RunPostedUntil(const std::function<bool()>& condition) {
    while (!condition()) {
      if (!RunPosted()) Wait();
    }
  }
  // Runs all present tasks and timers, without waiting for other threads.
  void RunAll() {
    while (RunPosted() || timers_.RunOne()) {
    }
  }

 private:
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !posted_.empty(); });
  }
  bool RunPosted() {
    std::unique_lock lock(mutex_);
    if (posted_.empty()) return false;
    Task task = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    task();
    return true;
  }

  VirtualLoop timers_;  // Loop thread only.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> posted_;  // Guarded by mutex_.
};

}  // namespace motley
