// SPDX-License-Identifier: Apache-2.0
#include "sim/world/node_loop.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr TimerId kDropped = 1;  // The world's loop never gives this number.

}  // namespace

TimerId NodeLoop::After(Duration delay, Task task) {
  if (dead_) return kDropped;
  ++pending_;
  return world_.AfterFor(this, delay, std::move(task));
}

void NodeLoop::Cancel(TimerId id) {
  if (id == 0) return;
  if (world_.Drop(id)) {
    --pending_;
    return;
  }
  const auto late = std::find_if(backlog_.begin(), backlog_.end(),
                                 [id](const Late& each) { return each.id == id; });
  if (late == backlog_.end() || !late->task) return;
  --pending_;
  const Task cancelled = std::exchange(late->task, nullptr);
}

void NodeLoop::OnDue(TimerId id, Task& task) {
  if (frozen_ || !backlog_.empty()) {
    backlog_.push_back({id, std::move(task)});
    return;
  }
  --pending_;
  task();
}

void NodeLoop::Thaw() {
  frozen_ = false;
  if (drain_ == 0 && !backlog_.empty())
    drain_ = world_.After(Duration::zero(), [this] { Drain(); });
}

void NodeLoop::Drain() {
  drain_ = 0;
  if (frozen_ || backlog_.empty()) return;
  const Late late = std::move(backlog_.front());
  backlog_.pop_front();
  if (!backlog_.empty()) drain_ = world_.After(Duration::zero(), [this] { Drain(); });
  if (!late.task) return;
  --pending_;
  late.task();
}

void NodeLoop::Kill() {
  dead_ = true;
  frozen_ = false;
  world_.Cancel(drain_);
  drain_ = 0;
  // Destroying a task may free objects that cancel other timers of this loop.
  const std::deque<Late> gone = std::exchange(backlog_, {});
  for (const Late& late : gone) pending_ -= late.task ? 1 : 0;
  if (pending_ == 0) return;
  for (const TimerId id : world_.TimersOf(this)) Cancel(id);
}

}  // namespace motley
