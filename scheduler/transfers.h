// SPDX-License-Identifier: Apache-2.0
// Tracks the traffic on the links of a job: data that are on their way to workers, and the time
// that vectors occupy the links. Pure bookkeeping.
//
// Workers report which data have come (DataCame). Data that a step needs pass a link in front of
// later messages. Copies give way: a piece of them is in front of a message at most, which counts
// as one partition. The time that a worker's messages take meanwhile shows how long its data take,
// and says nothing about its link.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/learned/vector_watch.h"
#include "scheduler/scheduler.h"

namespace motley {

class Transfers {
 public:
  enum class Why {
    kNeeded,  // Work of the same step needs the data.
    kCopies,  // Useful later (PlacePartitions::copies).
  };
  using Coming = std::map<PartitionId, Why>;  // Partitions that were sent and have not come.

  // See comes before anybody acts on an event.
  void See(const Event& event, Time now);

  // Data that do not come for long are no longer in the way: their worker does not receive.
  void StepOpens(StepId step);
  void StepEnded() { link_.StepEnded(); }
  // Answers of the open step have this part of a vector's length.
  void SetAnswerPart(double part) { answer_part_ = part; }
  // While wanted copies are missing, steps do not show what the copies are worth.
  void WantCopies(bool wanted) { wants_copies_ = wanted; }

  // `takes`: how long needed data take if nothing else is on its way. A copy that is on its way may
  // be sent again because a step needs it.
  void Sent(WorkerId worker, const std::vector<PartitionId>& partitions, StepId step, Why why,
            Time now = {}, Duration takes = {});
  void Gone(WorkerId worker);

  const Coming& ComingTo(WorkerId worker) const;
  // Partitions on their way that no step needed when they were sent.
  uint32_t CopiesTo(WorkerId worker) const;
  // Partitions that a message to the worker has to wait for.
  uint32_t InFront(WorkerId worker) const;
  // Time from `now` until all needed data should have come. Once they arrive, the rest is expected
  // at their rate.
  Duration Left(WorkerId worker, Time now) const;
  // When data that a step needs came last; before all times if none have.
  Time NeededCame(WorkerId worker) const {
    return worker < data_.size() ? data_[worker].needed_came : Time::min();
  }
  // True if the partition is on its way to the worker as a copy.
  bool IsCopyTo(WorkerId worker, PartitionId partition) const {
    const auto found = ComingTo(worker).find(partition);
    return found != ComingTo(worker).end() && found->second == Why::kCopies;
  }
  // True if data are in the way of everybody's messages in the open step. The time that messages
  // take then shows how long data take.
  bool InTheWay() const { return in_the_way_; }
  // True if data on their way to the worker may have delayed its messages since this time.
  bool Delayed(WorkerId worker, Time since) const;
  // The same for data of any worker.
  bool InTheWayOf(WorkerId worker, Time since) const {
    return in_the_way_ || Delayed(worker, since);
  }
  bool wants_copies() const { return wants_copies_; }
  const VectorWatch& link() const { return link_; }

 private:
  struct Data {
    Coming coming;
    uint32_t needed = 0;  // Partitions of `coming` that were needed when they were sent.
    StepId sent = 0;      // The last step that needed some.
    Time due{};
    Duration each{};          // Predicted for one of them.
    Time came = Time::min();  // When data came last.
    Time needed_came = Time::min();
    std::optional<Time> first_came;  // The first needed data of those that are on their way,
    uint32_t since_first = 0;        // and needed partitions that came after it.
  };
  void Came(const DataCame& event, Time now);

  std::vector<Data> data_;  // By worker.
  VectorWatch link_;
  double answer_part_ = 1;
  bool in_the_way_ = false;
  bool wants_copies_ = false;
};

}  // namespace motley
