// SPDX-License-Identifier: Apache-2.0
#include "base/loop/virtual_loop.h"

#include <algorithm>
#include <functional>

#include "base/assert.h"

namespace motley {
namespace {

constexpr size_t kMostCancelled =
    64;  // Cancelled timers kept in the heap, beyond one for each waiting timer.

}  // namespace

TimerId VirtualLoop::AfterFor(Owner* owner, Duration delay, Task&& task) {
  MOTLEY_ASSERT(delay >= Duration::zero() && task);
  if (delay == Duration::zero()) {
    Waiting& waiting = at_once_.push();
    waiting.task = std::move(task);
    waiting.owner = owner;
    ++at_once_pending_;
    return first_at_once_ + at_once_.size() - 1;
  }
  const TimerId id = tasks_.Add({std::move(task), owner});
  const Time time = delay > kNever - now_ ? kNever : now_ + delay;
  due_.push_back({time, id});
  std::push_heap(due_.begin(), due_.end(), std::greater<>());
  return id;
}

bool VirtualLoop::Drop(TimerId id) {
  if (id >= kAtOnce) return DropAtOnce(id);
  if (!tasks_.Has(id)) return false;
  // The task's destructor may set and cancel timers, so the task is destroyed last.
  const Waiting cancelled = tasks_.Take(id);
  if (due_.size() > 2 * tasks_.size() + kMostCancelled) DropCancelled();
  return true;
}

bool VirtualLoop::DropAtOnce(TimerId id) {
  if (id < first_at_once_ || id - first_at_once_ >= at_once_.size()) return false;
  const Task cancelled = std::move(at_once_[id - first_at_once_].task);
  if (!cancelled) return false;
  --at_once_pending_;
  return true;
}

void VirtualLoop::DropCancelled() {
  std::erase_if(due_, [this](const Due& due) { return !tasks_.Has(due.id); });
  std::make_heap(due_.begin(), due_.end(), std::greater<>());
}

std::vector<TimerId> VirtualLoop::TimersOf(const Owner* owner) {
  std::vector<TimerId> timers = tasks_.Ids();
  std::erase_if(timers, [&](TimerId id) { return tasks_.At(id).owner != owner; });
  for (size_t i = 0; i < at_once_.size(); ++i) {
    const Waiting& waiting = at_once_[i];
    if (waiting.task && waiting.owner == owner) timers.push_back(first_at_once_ + i);
  }
  return timers;
}

VirtualLoop::Queue VirtualLoop::Next() {
  while (!at_once_.empty() && !at_once_.front().task) {
    at_once_.drop_front();
    ++first_at_once_;
  }
  if (!at_once_.empty() && (due_.empty() || due_.front().time > now_)) return Queue::kAtOnce;
  while (!due_.empty() && !tasks_.Has(due_.front().id)) {
    std::pop_heap(due_.begin(), due_.end(), std::greater<>());
    due_.pop_back();
  }
  if (!due_.empty() && (at_once_.empty() || due_.front().time <= now_)) return Queue::kTimers;
  return at_once_.empty() ? Queue::kNothing : Queue::kAtOnce;
}

VirtualLoop::Waiting VirtualLoop::TakeAtOnce(TimerId& id) {
  Waiting waiting = std::move(at_once_.front());
  at_once_.drop_front();
  --at_once_pending_;
  id = first_at_once_++;
  return waiting;
}

VirtualLoop::Waiting VirtualLoop::TakeTimer(TimerId& id) {
  const Due due = due_.front();
  MOTLEY_ASSERT(due.time >= now_);
  now_ = due.time;
  id = due.id;
  std::pop_heap(due_.begin(), due_.end(), std::greater<>());
  due_.pop_back();
  return tasks_.Take(id);
}

bool VirtualLoop::RunOne() {
  const Queue queue = Next();
  if (queue == Queue::kNothing) return false;
  TimerId id = 0;
  Waiting waiting = queue == Queue::kAtOnce ? TakeAtOnce(id) : TakeTimer(id);
  ++tasks_run_;
  if (waiting.owner != nullptr) {
    waiting.owner->OnDue(id, waiting.task);
  } else {
    waiting.task();
  }
  return true;
}

void VirtualLoop::RunUntilTime(Time until) {
  while (true) {
    const Queue queue = Next();
    if (queue == Queue::kNothing) break;
    if ((queue == Queue::kAtOnce ? now_ : due_.front().time) > until) break;
    RunOne();
  }
  now_ = std::max(now_, until);
}

}  // namespace motley
