// SPDX-License-Identifier: Apache-2.0
#include "base/virtual_loop.h"

#include <algorithm>

#include "base/assert.h"

namespace motley {

TimerId VirtualLoop::After(Duration delay, Task task) {
  const TimerId id = next_id_++;
  MOTLEY_ASSERT(delay >= Duration::zero());
  const Time due = delay > kNever - now_ ? kNever : now_ + delay;
  due_.emplace(id, due);
  queue_.emplace(Key{due, id}, std::move(task));
  return id;
}

void VirtualLoop::Cancel(TimerId id) {
  const auto it = due_.find(id);
  if (it == due_.end()) return;
  queue_.erase(Key{it->second, id});
  due_.erase(it);
}

bool VirtualLoop::RunOne() {
  if (queue_.empty()) return false;
  auto node = queue_.extract(queue_.begin());
  MOTLEY_ASSERT(node.key().first >= now_);
  now_ = node.key().first;
  due_.erase(node.key().second);
  ++tasks_run_;
  node.mapped()();
  return true;
}

bool VirtualLoop::RunUntil(const std::function<bool()>& done) {
  while (!done()) {
    if (!RunOne()) return false;
  }
  return true;
}

void VirtualLoop::RunUntilTime(Time until) {
  while (!queue_.empty() && queue_.begin()->first.first <= until) RunOne();
  now_ = std::max(now_, until);
}

}  // namespace motley
