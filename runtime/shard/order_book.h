// SPDX-License-Identifier: Apache-2.0
// What the server has ordered of each worker: rows of a code, which are answered in turn, or one
// list of partitions, which grows and shrinks. It numbers the orders and makes their messages.
// Loop thread only.
//
// Fencing rests on the numbers. Orders of a step are numbered from 1 on; when the step is opened
// again, the numbers go on, and those given before do not count any more:
//
//   Open(7, form)   GiveRow(worker 0, row 2): order 1   GiveRow(worker 1, row 0): order 2
//   Open(7, form)   GiveRow(worker 0, row 2): order 3   order 1 may still be answered: it is late
//   Open(8, null)   Extend(worker 0, {4, 5}): order 1   Extend(worker 0, {9}): order 1 goes on
//
// A list ends (its partitions without an answer are nobody's) when the step is opened again or
// closed, when its work is cancelled, when its answer is refused, and when the worker is lost. A
// partition that two lists have is our own bug: kInternal.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/fifo.h"
#include "base/ids.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "runtime/shard/step_sum.h"
#include "transport/wire/control.h"

namespace motley {

class OrderBook {
 public:
  struct Order {
    StepId step = 0;
    uint32_t number = 0;
    SlicesCame came;  // For a list: since its last answer.
    // If it is a row:
    RowId row = 0;
    bool added = false;  // Something of it is in the sums.
    bool cancelled = false;
    bool settled = false;  // Arrived, late or refused: the scheduler knows.
    // If it is a list:
    bool listed = false;
    std::vector<PartitionId> entries;
    size_t covered = 0;                             // Entries, by answers that came.
    size_t done = 0;                                // Entries, as reported.
    std::vector<std::vector<PartitionId>> revoked;  // Asked back, and not answered yet.
    std::vector<AlignedVector> slices;              // What has come,
    std::vector<double> sketches;                   // and its sketches for the log.
  };

  OrderBook(uint32_t workers, uint32_t partitions);

  // A step starts, or starts again: with rows of this code, or with lists where it is null.
  void Open(StepId step, std::shared_ptr<const CodeForm> form);
  void Close();
  bool open() const { return open_; }
  bool listed() const { return form_ == nullptr; }  // The step that was opened last is.
  StepId step() const { return step_; }             // The one that was opened last.
  const CodeForm* form() const { return form_.get(); }
  uint32_t partitions() const { return static_cast<uint32_t>(leases_.size()); }
  size_t missing() const { return missing_; }  // Partitions that no list's answer covers.

  // What the worker is to be sent: a row of the open step, whose answer has so many slices,
  const Bytes& GiveRow(WorkerId worker, RowId row, size_t slices);
  // these at the end of its list, or of a new one if it has none,
  Result<wire::OrderT> Extend(WorkerId worker, std::span<const PartitionId> partitions);
  // that it is to give these back, or to send what it has summed. Nothing: it has no list.
  std::optional<wire::RevokeT> Revoke(WorkerId worker, std::vector<PartitionId> partitions);
  std::optional<wire::FlushT> Flush(WorkerId worker);
  // Its work for steps up to this one is not needed, and may end unfinished; its list ends.
  wire::CancelT Cancel(WorkerId worker, StepId step);
  // The same for one row. Nothing: it has answered that.
  std::optional<wire::CancelT> CancelRow(WorkerId worker, StepId step, RowId row);
  void Forget(WorkerId worker);  // It is gone.

  // The oldest order that the worker has not ended, which it answers next; null: none.
  Order* First(WorkerId worker);
  // That order if it has this number, or any order with it; null otherwise.
  Order* First(WorkerId worker, StepId step, uint32_t number);
  Order* Find(WorkerId worker, StepId step, uint32_t number);
  // A row stays readable until the worker is given more, and its memory of slices is used again.
  void EndFirst(WorkerId worker) { seats_[worker].orders.drop_front(); }
  void EndList(WorkerId worker);  // If it has one.
  // The worker gives these back. kDataError: they were not asked for, or are done.
  Status TakeBack(Order& list, const wire::ReleasedT& released);
  // An answer covers so many more entries.
  std::span<const PartitionId> Cover(Order& list, uint32_t entries);

  // It was given since the last Open.
  bool IsCurrent(const Order& order) const { return order.step == step_ && order.number > before_; }
  // What has this number may have been ordered, and has ended: it is late, and nobody's fault.
  bool Past(StepId step, uint32_t number) const;
  // True once for all that is late with this number.
  bool FirstLate(WorkerId worker, StepId step, uint32_t number);

 private:
  enum class Lease : uint8_t { kFree, kGiven, kCovered };
  struct Seat {
    Fifo<Order> orders;                  // A list is the last one.
    std::pair<StepId, uint32_t> late{};  // The last one that was counted.
  };
  Order* ListOf(WorkerId worker);
  Order& Add(WorkerId worker);

  std::vector<Seat> seats_;
  std::vector<Lease> leases_;  // By partition.
  size_t missing_ = 0;
  std::shared_ptr<const CodeForm> form_;
  std::shared_ptr<const CodeForm> written_;  // The form of messages_.
  std::vector<Bytes> messages_;              // By row; empty: not worked out yet.
  StepId step_ = 0;
  uint32_t before_ = 0;  // The last number before the step was opened (again),
  uint32_t last_ = 0;    // and the last one so far.
  bool open_ = false;
};

}  // namespace motley
