// SPDX-License-Identifier: Apache-2.0
// What passes the links of a job: whose data may still be on their way, and how long vectors
// occupy the links. Pure bookkeeping.
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
  // Every event, before anybody acts on it,
  void See(const Event& event, Time now) { link_.See(event, now, answer_part_); }
  // and after that: what an answer has just taught may have waited for the data that it proves to
  // have come.
  void SeeAnswer(const Event& event);

  void StepOpens(StepId step) { in_the_way_ = data_.InTheWay(step); }
  void StepEnded() { link_.StepEnded(); }
  // Answers of the open step are this part of a vector long.
  void SetAnswerPart(double part) { answer_part_ = part; }
  // Copies that are wanted are not all there: steps do not show yet what the copies are worth.
  void WantCopies(bool wanted) { wants_copies_ = wanted; }

  void Sent(WorkerId worker, uint32_t partitions, StepId step, DataWatch::Why why, Time due);
  // It computed some of what it was asked in `step`, for which it needed its parameters.
  void Began(WorkerId worker, StepId step) { data_.Began(worker, step); }
  void Gone(WorkerId worker) { data_.Gone(worker); }

  uint32_t OnTheirWay(WorkerId worker) const { return data_.OnTheirWay(worker); }
  Duration Left(WorkerId worker, Time now) const { return data_.Left(worker, now); }
  // In the open step: what the messages of all take shows what data take.
  bool InTheWay() const { return in_the_way_; }
  // The same of one worker's messages.
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
