// SPDX-License-Identifier: Apache-2.0
// The orders that the server has given to each worker: rows of a code, which are answered in turn,
// or one list of partitions, which grows and shrinks. The book numbers the orders and makes their
// messages. Loop thread only.
//
// Fencing rests on the numbers. A step's orders are numbered from 1. When the step is opened again,
// the numbers go on, and earlier ones no longer count:
//
//   Open(7, form)   GiveRow(worker 0, row 2): order 1   GiveRow(worker 1, row 0): order 2
//   Open(7, form)   GiveRow(worker 0, row 2): order 3   order 1 may still be answered: it is late
//   Open(8, null)   Extend(worker 0, {4, 5}): order 1   Extend(worker 0, {9}): order 1 goes on
//
// A list ends when the step is opened again or closed, when its work is cancelled, when its answer
// is refused, and when the worker is lost. Its unanswered partitions then belong to nobody. A
// partition in two lists is a bug of the server: kInternal.
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
    SlicesCame came;  // Slices that arrived; for a list, since its last answer.
    // For a row:
    RowId row = 0;
    bool added = false;  // Part of it is in the sums.
    bool cancelled = false;
    bool settled = false;  // It arrived, came late or was refused, and the scheduler knows.
    // For a list:
    bool listed = false;
    std::vector<PartitionId> entries;
    size_t covered = 0;  // Entries that answers cover.
    size_t done = 0;     // Entries that the worker reported as done.
    // Entries asked back, one list for each unanswered request.
    std::vector<std::vector<PartitionId>> revoked;
    std::vector<AlignedVector> slices;  // Slices of the answer that is arriving.
    std::vector<double> sketches;       // Their sketches, for the log.
  };

  OrderBook(uint32_t workers, uint32_t partitions);

  // A step starts, or starts again, with rows of this code, or with lists if it is null.
  void Open(StepId step, std::shared_ptr<const CodeForm> form);
  void Close();
  bool open() const { return open_; }
  bool listed() const { return form_ == nullptr; }  // The last opened step uses lists.
  StepId step() const { return step_; }             // The step that was opened last.
  const CodeForm* form() const { return form_.get(); }
  uint32_t partitions() const { return static_cast<uint32_t>(leases_.size()); }
  size_t missing() const { return missing_; }  // Partitions that no list's answer covers.

  // Adds a row of the open step, whose answer has `slices` slices, and returns its message.
  const Bytes& GiveRow(WorkerId worker, RowId row, size_t slices);
  // Adds partitions to the end of the worker's list, or starts a list if it has none.
  Result<wire::OrderT> Extend(WorkerId worker, std::span<const PartitionId> partitions);
  // Asks the worker to give partitions back, or (Flush) to send its sum so far. Empty if it has no
  // list.
  std::optional<wire::RevokeT> Revoke(WorkerId worker, std::vector<PartitionId> partitions);
  std::optional<wire::FlushT> Flush(WorkerId worker);
  // The worker's orders for steps up to this one are not needed and may end unfinished. Its list
  // ends.
  wire::CancelT Cancel(WorkerId worker, StepId step);
  // Cancels one row. Empty if the worker has answered it.
  std::optional<wire::CancelT> CancelRow(WorkerId worker, StepId step, RowId row);
  void Forget(WorkerId worker);  // The worker is gone.

  // The oldest order that the worker has not ended, which it answers next; null if there is none.
  Order* First(WorkerId worker);
  // The first order if it has this number, or (Find) any order with this number; null otherwise.
  Order* First(WorkerId worker, StepId step, uint32_t number);
  Order* Find(WorkerId worker, StepId step, uint32_t number);
  // Ends the first order. A row stays readable until the worker gets another, which reuses its
  // memory.
  void EndFirst(WorkerId worker) { seats_[worker].orders.drop_front(); }
  void EndList(WorkerId worker);  // Does nothing if there is no list.
  // The worker gives partitions back. kDataError: they were not asked for, or are done.
  Status TakeBack(Order& list, const wire::ReleasedT& released);
  // An answer covers this many further entries.
  std::span<const PartitionId> Cover(Order& list, uint32_t entries);

  // The order was given since the last Open.
  bool IsCurrent(const Order& order) const { return order.step == step_ && order.number > before_; }
  // An order with this number may have been given and has ended. Its answer is late, and nobody's
  // fault.
  bool Past(StepId step, uint32_t number) const;
  // True for the first late message with this number, and false for further ones.
  bool FirstLate(WorkerId worker, StepId step, uint32_t number);

 private:
  enum class Lease : uint8_t { kFree, kGiven, kCovered };
  struct Seat {
    Fifo<Order> orders;                  // A list is the last one.
    std::pair<StepId, uint32_t> late{};  // The last late number that was counted.
  };
  Order* ListOf(WorkerId worker);
  Order& Add(WorkerId worker);

  std::vector<Seat> seats_;
  std::vector<Lease> leases_;  // By partition.
  size_t missing_ = 0;
  std::shared_ptr<const CodeForm> form_;
  std::shared_ptr<const CodeForm> written_;  // The form that messages_ were made from.
  std::vector<Bytes> messages_;              // The message of each row; empty if not made yet.
  StepId step_ = 0;
  uint32_t before_ = 0;  // The last number before the last Open of the step.
  uint32_t last_ = 0;    // The last number so far.
  bool open_ = false;
};

}  // namespace motley
