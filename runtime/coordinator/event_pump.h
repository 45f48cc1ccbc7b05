// SPDX-License-Identifier: Apache-2.0
// Feeds events to the scheduler one after the other and has its commands carried out in order. It
// never nests them, wherever an event is raised. It also keeps the scheduler's clock. Loop thread
// only.
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

  // Feeds the event now, or after those that are being handled.
  void Raise(Event event);
  // Keeps events until Release. A worker that joins and is lost meanwhile leaves none.
  void Hold() { pumping_ = true; }
  void Release();
  // Feeds and executes nothing more.
  void Stop();

  SchedulerStats Stats() const { return scheduler_->Stats(); }

 private:
  bool Forget(WorkerId worker);
  void Handle(const Event& event);
  void HandleKept();
  void SetTimer();

  Loop& loop_;
  std::unique_ptr<Scheduler> scheduler_;
  Execute execute_;
  Fifo<Event> events_;             // Events raised while another is handled, or none may be.
  std::vector<Command> commands_;  // Commands of the event that is being handled.
  TimerId timer_ = 0;
  Time timer_due_ = kNever;
  bool pumping_ = false;
  bool stopped_ = false;
};

}  // namespace motley
