// SPDX-License-Identifier: Apache-2.0
// Tracks the traffic on the links of a job: workers whose data may still be on their way, and the
// time that vectors occupy the links. Pure bookkeeping.
//
// Data and parameters pass the same link in order, so a worker that answers a later step has all
// data sent before that step. Until then, the time that its messages take shows how long its data
// take, and says nothing about its link.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/learned/vector_watch.h"
#include "scheduler/scheduler.h"

namespace motley {

class Transfers {
 public:
  enum class Why {
    kNeeded,  // Work of the same step needs the data, and its answer shows that they came.
    kCopies,  // Useful later, and so many that they are in the way of all.
    kFew,     // Useful later, but too few to be in the way of others.
  };

  // See comes before anybody acts on an event.
  void See(const Event& event, Time now) { link_.See(event, now, answer_part_); }
  // SeeAnswer comes after the event was acted on. The answer may have waited for the very data that
  // it proves to have arrived, and learning from it has to take that wait into account.
  void SeeAnswer(const Event& event);

  // Data of workers that never answer are no longer in the way.
  void StepOpens(StepId step);
  void StepEnded() { link_.StepEnded(); }
  // Answers of the open step have this part of a vector's length.
  void SetAnswerPart(double part) { answer_part_ = part; }
  // While wanted copies are missing, steps do not show what the copies are worth.
  void WantCopies(bool wanted) { wants_copies_ = wanted; }

  // `due` is the predicted time of arrival.
  void Sent(WorkerId worker, uint32_t partitions, StepId step, Why why, Time due = {});
  // The worker answered its work of `step` with a whole vector.
  void Answered(WorkerId worker, StepId step);
  // The worker computed some of its work of `step`, which needs the step's parameters.
  void Began(WorkerId worker, StepId step) {
    if (step > 0) Answered(worker, step - 1);
  }
  void Gone(WorkerId worker);

  // Partitions; 0 when all that were sent are known to have come.
  uint32_t OnTheirWay(WorkerId worker) const {
    return worker < sent_.size() ? sent_[worker].on_their_way : 0;
  }
  // Time from `now` until all should have come.
  Duration Left(WorkerId worker, Time now) const {
    return OnTheirWay(worker) > 0 ? std::max(sent_[worker].due - now, Duration{}) : Duration{};
  }
  // True if data are in the way of everybody's messages in the open step. The time that messages
  // take then shows how long data take.
  bool InTheWay() const { return in_the_way_; }
  // The same for the messages of one worker.
  bool InTheWayOf(WorkerId worker) const { return in_the_way_ || OnTheirWay(worker) > 0; }
  bool wants_copies() const { return wants_copies_; }
  const VectorWatch& link() const { return link_; }

 private:
  struct Data {
    uint32_t on_their_way = 0;
    bool of_others = false;  // The data are in the way of others, too.
    StepId sent = 0;
    StepId shown = 0;  // An answer to this step or a later one shows that they came.
    Time due{};
  };

  std::vector<Data> sent_;  // By worker.
  VectorWatch link_;
  double answer_part_ = 1;
  bool in_the_way_ = false;
  bool wants_copies_ = false;
};

}  // namespace motley
