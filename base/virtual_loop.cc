// SPDX-License-Identifier: Apache-2.0
#include "base/virtual_loop.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr size_t kMostCancelled = 64;  // Beyond as many as wait.

}  // namespace

TimerId VirtualLoop::After(Duration delay, Task task) {
  MOTLEY_ASSERT(delay >= Duration::zero());
  const Time time = delay > kNever - now_ ? kNever : now_ + delay;
  const TimerId id = tasks_.Add(std::move(task));
  due_.push_back({time, id});
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
  return id;
}

void VirtualLoop::Cancel(TimerId id) {
  // What the task holds may set and cancel timers as it goes, so it goes last.
  const Task cancelled = tasks_.Take(id);
  if (due_.size() > 2 * tasks_.size() + kMostCancelled) DropCancelled();
}

void VirtualLoop::DropCancelled() {
  std::erase_if(due_, [this](const Due& due) { return !tasks_.Has(due.id); });
  std::make_heap(due_.begin(), due_.end(), std::greater<>());
}

const VirtualLoop::Due* VirtualLoop::Next() {
  while (!due_.empty() && !tasks_.Has(due_.front().id)) {
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    due_.pop_back();
  }
  return due_.empty() ? nullptr : &due_.front();
}

bool VirtualLoop::RunOne() {
  const Due* next = Next();
  if (next == nullptr) return false;
  MOTLEY_ASSERT(next->time >= now_);
  now_ = next->time;
  const Task task = tasks_.Take(next->id);
  std::pop_heap(due_.begin(), due_.end(), std::greater<>());
  due_.pop_back();
  ++tasks_run_;
  task();
  return true;
}

bool VirtualLoop::RunUntil(const std::function<bool()>& done) {
  while (!done()) {
    if (!RunOne()) return false;
  }
  return true;
}

void VirtualLoop::RunUntilTime(Time until) {
  for (const Due* next = Next(); next != nullptr && next->time <= until; next = Next()) RunOne();
  now_ = std::max(now_, until);
}

}  // namespace motley
