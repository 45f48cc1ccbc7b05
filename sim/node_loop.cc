// SPDX-License-Identifier: Apache-2.0
#include "sim/node_loop.h"

#include <utility>

namespace motley {

TimerId NodeLoop::After(Duration delay, Task task) {
  const TimerId id = next_id_++;
  if (dead_) return id;
  const TimerId world_id = world_.After(delay, [this, id] { Due(id); });
  tasks_.emplace(id, Waiting{world_id, std::move(task)});
  return id;
}

void NodeLoop::Cancel(TimerId id) {
  const auto it = tasks_.find(id);
  if (it == tasks_.end()) return;
  world_.Cancel(it->second.world_id);
  tasks_.erase(it);
}

void NodeLoop::Due(TimerId id) {
  if (frozen_ || !backlog_.empty()) {
    backlog_.push_back(id);
  } else {
    Run(id);
  }
}

void NodeLoop::Run(TimerId id) {
  auto node = tasks_.extract(id);
  if (!node.empty()) node.mapped().task();
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
  while (!tasks_.empty()) {
    auto node = tasks_.extract(tasks_.begin());
    world_.Cancel(node.mapped().world_id);
  }
}

}  // namespace motley
