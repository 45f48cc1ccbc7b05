// SPDX-License-Identifier: Apache-2.0
#include "sim/node_loop.h"

#include <utility>

namespace motley {

TimerId NodeLoop::After(Duration delay, Task task) {
  const TimerId id = tasks_.Add({0, std::move(task)});
  if (dead_) {
    const Waiting dropped = tasks_.Take(id);
    return id;
  }
  const TimerId world_id = world_.After(delay, [this, id] { Due(id); });
  tasks_.At(id).world_id = world_id;
  return id;
}

void NodeLoop::Cancel(TimerId id) {
  const Waiting cancelled = tasks_.Take(id);
  world_.Cancel(cancelled.world_id);
}

void NodeLoop::Due(TimerId id) {
  if (frozen_ || !backlog_.empty()) {
    backlog_.push_back(id);
  } else {
    Run(id);
  }
}

void NodeLoop::Run(TimerId id) {
  const Waiting due = tasks_.Take(id);
  if (due.task) due.task();
}

void NodeLoop::Thaw() {
  frozen_ = false;
  if (drain_ == 0 && !backlog_.empty())
    drain_ = world_.After(Duration::zero(), [this] { Drain(); });
}

void NodeLoop::Drain() {
  drain_ = 0;
  if (frozen_ || backlog_.empty()) return;
  const TimerId id = backlog_.front();
  backlog_.pop_front();
  if (!backlog_.empty()) drain_ = world_.After(Duration::zero(), [this] { Drain(); });
  Run(id);
}

void NodeLoop::Kill() {
  dead_ = true;
  frozen_ = false;
  world_.Cancel(drain_);
  drain_ = 0;
  backlog_.clear();
  // Destroying a task may free what it holds, which may cancel other timers of this loop.
  for (const TimerId id : tasks_.Ids()) Cancel(id);
}

}  // namespace motley
