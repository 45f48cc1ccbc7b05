// SPDX-License-Identifier: Apache-2.0
// Takes the slices of answers as they arrive, decides which count, and reports to the scheduler
// what became of them. Everything about fencing is here and in the OrderBook: what a worker says
// counts only for an order of the (job, incarnation, step) that it has now. Loop thread only.
//
// Slices whose cover is known (rows of a code) go into the stream decoder one by one, so those of a
// straggler count although the rest never came. Where the cover is said at the end (lists), slices
// wait in room of their own; the whole vector is added, or nothing of it. So what is half sent, or
// refused, leaves the sum as it was. Both pass the same checks: the place, the declared norm,
// sketch and tally, and the version.
//
//   row 2 of worker 0     Begin, Finish (decoded), Begin, Finish: RowArrived     OnEnd: finished
//   3 4 5 of worker 1     Begin, Finish (waits), Begin, Finish                   OnEnd: added,
//                                                                                LeaseVector
//
// Rows that workers keep (CodeForm::kept_parts) have arrived, from each of them, with an end that
// says so; nothing is decoded before the step is opened again with the code of the answers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/ids.h"
#include "coding/decode/stream_decoder.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/answer_log.h"
#include "runtime/shard/batch_weight.h"
#include "runtime/shard/order_book.h"
#include "scheduler/scheduler.h"
#include "transport/wire/control.h"
#include "transport/wire/header.h"

namespace motley {

class Answers {
 public:
  struct Hooks {
    // RowArrived, StepDecodable, RowLate, RowRejected, LeaseProgress, LeaseReleased, LeaseSlice,
    // LeaseVector and WorkerProgress, which has 0 samples where an order has ended. May call back.
    std::function<void(Event)> raise;
    // Before LeaseVector: a vector over these was added.
    std::function<void(WorkerId, std::span<const PartitionId>)> covered;
  };
  struct Shape {
    uint32_t workers = 1;
    uint32_t partitions = 1;
    size_t length = 0;  // The sum's, in floats.
    size_t slice_length = 0;
    std::span<float> home = {};  // As in StepSum.
    bool keep_rows = false;      // As in DecodeLimits.
  };
  // A slice that arrives. It stays with its connection, which may outlast the worker's stay here.
  struct Slice {
    AlignedVector values;  // Room for it.
    StepId step = 0;
    uint32_t order = 0;  // 0: none arrives.
    size_t index = 0;
    Claim claim;  // What its header declared.
  };

  Answers(const Shape& shape, ParallelFor& parallel, Hooks hooks);

  // Before the first Open: who keeps sketches of what counts, and compares what comes late.
  // Borrowed.
  void SetLog(AnswerLog* log) { log_ = log; }

  OrderBook& orders() { return orders_; }
  const StepSum& sum() const { return sum_; }

  // A step starts, or starts again: what was ordered before no longer counts. `counts`: what
  // answers must weigh; null: that is not known.
  void Open(StepId step, std::shared_ptr<const CodeForm> form, KnownCounts counts = nullptr);
  void OpenLists(StepId step, KnownCounts counts = nullptr);
  // Writes the sum of the open step, which then is closed: what still comes is late. Precondition:
  // rows are decodable, and the sum of lists is the home. kInternal: lists do not tile all
  // partitions.
  Status Close(std::span<float> sum);
  // Instead of Close where rows do not decode: the best sum of those that are whole.
  // kNotDecodable when there are none. Only with `keep_rows`.
  Result<ApproximateDecoding> CloseApproximately(std::span<float> sum);
  bool decodable() const { return orders_.open() && decodable_; }

  // What the worker is to be sent.
  const Bytes& GiveRow(WorkerId worker, RowId row) {
    return orders_.GiveRow(worker, row, sum_.cut().count());
  }

  // A slice is announced: makes room for it, or returns false to discard it. `fenced`: the header
  // is about another job or incarnation. kDataError: a fault of the worker, after it was raised;
  // kResource is our own: no memory for the answer.
  Result<bool> Begin(WorkerId worker, const Header& header, bool fenced, Slice& slice);
  // The slice of the last Begin is there. Errors as above; with kResource the step cannot go on.
  Status Finish(WorkerId worker, Slice& slice);

  // What a worker says. kDataError: that cannot be, and the worker is not to be trusted.
  Status OnProgress(WorkerId worker, const wire::ProgressT& progress);
  Status OnReleased(WorkerId worker, const wire::ReleasedT& released);
  // False: the worker was given no such order. kDataError: the answer is refused, which was raised.
  Result<bool> OnEnd(WorkerId worker, const wire::AnswerEndT& end);

 private:
  using Order = OrderBook::Order;

  bool Counts(const Order& order) const { return orders_.open() && orders_.IsCurrent(order); }
  bool Keeping() const { return orders_.form()->kept_parts > 0; }
  Status Check(const Header& header, const Order& order, Slice& slice) const;
  Status FinishRow(WorkerId worker, Order& row, Slice& slice);
  Status Decode(WorkerId worker, Order& row, Slice& slice, std::vector<Event>& events);
  Status FinishOfList(WorkerId worker, Order& list, Slice& slice);
  void EndRow(WorkerId worker, const Order& row, bool finished);
  Status EndVector(WorkerId worker, Order& list, uint32_t entries);
  void CountLate(WorkerId worker, const Header& header, bool fenced, Order* row);
  Event Late(WorkerId worker, const Order& row) const;
  Status Misplaced(WorkerId worker, const Header& header);
  Status Refuse(WorkerId worker, Order& order, Status why);

  const Hooks hooks_;
  OrderBook orders_;
  StepSum sum_;
  AnswerLog* log_ = nullptr;
  // What follows is about the step that was opened last.
  KnownCounts counts_;
  std::vector<bool> row_done_;
  bool decodable_ = false;     // The scheduler knows.
  std::vector<Event> events_;  // Room for the next.
};

}  // namespace motley
