// SPDX-License-Identifier: Apache-2.0
// Tracks the traffic on the links of a job: workers whose data may still be on their way, and the
// time that vectors occupy the links. Pure bookkeeping.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/learned/data_watch.h"
#include "scheduler/learned/vector_watch.h"
#include "scheduler/scheduler.h"

namespace motley {

class Transfers {
 public:
  // See comes before anybody acts on an event.
  void See(const Event& event, Time now) { link_.See(event, now, answer_part_); }
  // SeeAnswer comes after the event was acted on. The answer may have waited for the very data that
  // it proves to have arrived, and learning from it has to take that wait into account.
  void SeeAnswer(const Event& event);

  void StepOpens(StepId step) { in_the_way_ = data_.InTheWay(step); }
  void StepEnded() { link_.StepEnded(); }
  // Answers of the open step have this part of a vector's length.
  void SetAnswerPart(double part) { answer_part_ = part; }
  // While wanted copies are missing, steps do not show what the copies are worth.
  void WantCopies(bool wanted) { wants_copies_ = wanted; }

  void Sent(WorkerId worker, uint32_t partitions, StepId step, DataWatch::Why why, Time due);
  // The worker computed some of its work of `step`, which needs the step's parameters.
  void Began(WorkerId worker, StepId step) { data_.Began(worker, step); }
  void Gone(WorkerId worker) { data_.Gone(worker); }

  uint32_t OnTheirWay(WorkerId worker) const { return data_.OnTheirWay(worker); }
  Duration Left(WorkerId worker, Time now) const { return data_.Left(worker, now); }
  // True if data are in the way of everybody's messages in the open step. The time that messages
  // take then shows how long data take.
  bool InTheWay() const { return in_the_way_; }
  // The same for the messages of one worker.
  bool InTheWayOf(WorkerId worker) const { return in_the_way_ || OnTheirWay(worker) > 0; }
  bool wants_copies() const { return wants_copies_; }
  const VectorWatch& link() const { return link_; }

 private:
  DataWatch data_;
  VectorWatch link_;
  double answer_part_ = 1;
  bool in_the_way_ = false;
  bool wants_copies_ = false;
};

}  // namespace motley
