// SPDX-License-Identifier: Apache-2.0
// Feeds events to the scheduler one after the other and has its commands carried out in order:
// never inside each other, whoever raises an event from where. Keeps the scheduler's clock. Loop
// thread only.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/fifo.h"
#include "base/loop/loop.h"
#include "runtime/alive.h"
#include "scheduler/scheduler.h"

namespace motley {

class EventPump {
 public:
  using Execute = std::function<void(const Command&)>;

  EventPump(Loop& loop, std::unique_ptr<Scheduler> scheduler, Execute execute);
  ~EventPump();

  // Runs now, or after the events that are being dealt with.
  void Raise(Event event);
  // Nothing more is fed or carried out.
  void Stop();

  SchedulerStats Stats() const { return scheduler_->Stats(); }

 private:
  void Handle(const Event& event);
  void SetTimer();

  Loop& loop_;
  std::unique_ptr<Scheduler> scheduler_;
  Execute execute_;
  Fifo<Event> events_;             // Raised while another is dealt with.
  std::vector<Command> commands_;  // Of the event that is being dealt with.
  TimerId timer_ = 0;
  Time timer_due_ = kNever;
  bool pumping_ = false;
  bool stopped_ = false;
};

}  // namespace motley
