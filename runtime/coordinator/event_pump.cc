// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/event_pump.h"

#include <algorithm>
#include <utility>

namespace motley {

EventPump::EventPump(Loop& loop, std::unique_ptr<Scheduler> scheduler, Execute execute)
    : loop_(loop), scheduler_(std::move(scheduler)), execute_(std::move(execute)) {}

EventPump::~EventPump() { Stop(); }

void EventPump::Raise(Event event) {
  if (stopped_) return;
  const auto* lost = std::get_if<WorkerLost>(&event);
  if (lost != nullptr && Forget(lost->worker)) return;
  if (pumping_) return events_.push_back(std::move(event));
  pumping_ = true;
  Handle(event);
  HandleKept();
}

// The scheduler has not heard of this incarnation, which is lost. Commands for it would reach the
// next one. False: it has heard of it.
bool EventPump::Forget(WorkerId worker) {
  bool joined = false;
  for (size_t i = 0; i < events_.size();) {
    const auto of_worker = [worker](const auto& each) {
      if constexpr (requires { each.worker; }) return each.worker == worker;
      return false;
    };
    const bool kept = std::holds_alternative<WorkerNotComing>(events_[i]);
    const bool gone = !kept && std::visit(of_worker, events_[i]);
    joined |= gone && std::holds_alternative<WorkerJoined>(events_[i]);
    if (joined && gone) {
      events_.Take(i);
    } else {
      ++i;
    }
  }
  return joined;
}

void EventPump::Release() {
  if (!stopped_) HandleKept();
}

void EventPump::HandleKept() {
  while (!events_.empty() && !stopped_) Handle(events_.pop_front());
  pumping_ = false;
  if (!stopped_) SetTimer();
}

void EventPump::Handle(const Event& event) {
  commands_.clear();
  scheduler_->OnEvent(event, loop_.Now(), commands_);
  for (const Command& command : commands_) {
    if (!stopped_) execute_(command);
  }
}

void EventPump::SetTimer() {
  // A timer that comes too early is set again then. Usually the deadline only moves on.
  const Time due = scheduler_->Deadline();
  if (due >= timer_due_) return;
  if (timer_due_ != kNever) loop_.Cancel(timer_);
  timer_due_ = due;
  timer_ = loop_.After(std::max(due - loop_.Now(), Duration::zero()), [this] {
    timer_due_ = kNever;
    if (scheduler_->Deadline() > loop_.Now()) return SetTimer();
    Raise(Tick{});
  });
}

void EventPump::Stop() {
  if (std::exchange(stopped_, true)) return;
  if (timer_due_ != kNever) loop_.Cancel(timer_);
  timer_due_ = kNever;
}

}  // namespace motley
