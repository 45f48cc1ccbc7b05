// SPDX-License-Identifier: Apache-2.0
// The server's side of leases: whose every partition is, the vectors that come over them, and the
// sum. Loop thread only.
//
// A vector is added whole or not at all: its slices wait in room of its own until the worker's
// VectorEnd says what it covers, and every slice was finite, with the norm and the sketch that its
// header declared. So what is half sent, or refused, leaves the sum as it was. At most one vector
// per worker waits, since a worker's frames come in order.
//
// Everything about fencing is here: what a worker says counts only for the list that it has now.
// A list ends (its entries without a vector are nobody's) when the step is opened again or closed,
// when its work is cancelled, when a vector is refused, and when the worker is lost. Partitions
// that two lists have, and sums that do not tile all partitions, are our own bug: kInternal.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/ids.h"
#include "base/parallel.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/answer_log.h"
#include "runtime/shard/batch_weight.h"
#include "scheduler/scheduler.h"
#include "transport/wire/control.h"
#include "transport/wire/header.h"

namespace motley {

class LeaseCollector {
 public:
  struct Hooks {
    // LeaseProgress, LeaseReleased, LeaseSlice, LeaseVector, RowRejected, RowLate, and
    // WorkerProgress (of 0 samples) for a word about a list that has ended. May call back.
    std::function<void(Event)> raise;
    // Before LeaseVector: a vector over these was added.
    std::function<void(WorkerId, std::span<const PartitionId>)> covered;
  };
  struct Vector;  // That is arriving.
  // A slice of one, whose room it keeps.
  struct Slice {
    std::shared_ptr<Vector> vector;
    size_t index = 0;
    std::span<float> room;
    Claim claim;  // Of its header.
  };

  // `length` and `slice_length` in floats; `parallel` is borrowed.
  LeaseCollector(uint32_t workers, uint32_t partitions, size_t length, size_t slice_length,
                 ParallelFor& parallel, Hooks hooks);
  ~LeaseCollector();

  // Before the first Open: who keeps sketches of what counts. Borrowed.
  void SetLog(AnswerLog* log) { log_ = log; }

  // A step starts, or starts again; its sum is formed in `sum` (length floats) until Close.
  // `counts`: what vectors must weigh; null: that is not known.
  void Open(StepId step, std::span<float> sum, KnownCounts counts = nullptr);
  bool open() const { return open_; }
  bool used() const;                     // Some list was given, ever.
  StepId step() const { return step_; }  // Of the last Open.
  // All lists end. kInternal unless the vectors that came tile all partitions.
  Status Close();
  const Tally& tally() const { return tally_; }  // Of the vectors in the sum.
  void Abandon();                                // The step goes on without leases.

  // Appends to the worker's list; returns the list's number.
  Result<uint32_t> Extend(WorkerId worker, std::span<const PartitionId> partitions);
  // The worker will be asked to give these back. Nothing: it has no list.
  std::optional<uint32_t> Revoke(WorkerId worker, std::vector<PartitionId> partitions);
  std::optional<uint32_t> ListOf(WorkerId worker) const;
  void Cancel(WorkerId worker, StepId step);  // Its list ends, if it is of a step up to this one.
  void Forget(WorkerId worker);               // The worker is gone.

  // A slice is announced: gives it room in `slice`, or returns false to discard it. `fenced`: the
  // header is about another job or incarnation. kDataError: a fault of the worker's, after it was
  // raised; kResource: no memory for the vector.
  Result<bool> Begin(WorkerId worker, const Header& header, bool fenced, Slice& slice);
  // That slice is there. kDataError as above.
  Status Finish(WorkerId worker, const Slice& slice);

  // What a worker says. kDataError: that cannot be, and the worker is not to be trusted.
  Status OnProgress(WorkerId worker, const wire::LeaseProgressT& progress);
  Status OnReleased(WorkerId worker, const wire::ReleasedT& released);
  // kDataError: the vector is refused, which was raised.
  Status OnVectorEnd(WorkerId worker, const wire::VectorEndT& end);

 private:
  enum class Lease : uint8_t { kFree, kGiven, kCovered };
  struct Seat {
    std::optional<uint32_t> list;  // Its number; none: no list.
    std::vector<PartitionId> entries;
    size_t covered = 0;                            // Entries, by vectors that came.
    size_t done = 0;                               // Entries, as told.
    std::deque<std::vector<PartitionId>> revoked;  // Asked back, and not answered yet.
    std::shared_ptr<Vector> arriving;
    uint32_t late_list = 0;  // The last one whose late vector was counted.
  };

  void EndList(Seat& seat);
  bool IsCurrent(const Seat& seat, StepId step, uint32_t list) const;
  void CountLate(WorkerId worker, const Header& header, bool fenced);
  Status CountWord(WorkerId worker);
  Status Refuse(WorkerId worker, Status why);
  Result<std::shared_ptr<Vector>> Spare();
  Status CheckWhole(const Vector& vector) const;
  void Add(const Vector& vector);

  Slicing cut_;
  ParallelFor& parallel_;
  Hooks hooks_;
  std::vector<Seat> seats_;
  std::vector<Lease> leases_;                     // By partition.
  std::vector<std::shared_ptr<Vector>> vectors_;  // All that exist, for reuse.
  std::span<float> sum_;
  Tally tally_;
  AnswerLog* log_ = nullptr;
  KnownCounts counts_;
  size_t missing_ = 0;  // Partitions that no vector covers.
  StepId step_ = 0;
  uint32_t last_list_;
  bool open_ = false;
  bool empty_ = true;  // Nothing was added: what stands in the sum is old.
};

}  // namespace motley
