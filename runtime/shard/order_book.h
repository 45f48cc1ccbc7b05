// SPDX-License-Identifier: Apache-2.0
// The orders that the server has given to each worker: rows of a code, which are answered in turn,
// or one list of partitions, which grows and shrinks. The book numbers the orders and makes their
// messages. Several updates may be open at a time, with orders of their own. Loop thread only.
//
// Fencing rests on the numbers. An update's orders are numbered from 1. When the update is opened
// again, the numbers go on, and earlier ones no longer count:
//
//   Open(7, form)
//   GiveRow(worker 0, 7, row 2)    order 1
//   GiveRow(worker 1, 7, row 0)    order 2
//   Open(7, form)
//   GiveRow(worker 0, 7, row 2)    order 3; order 1 may still be answered, and is late
//   Open(8, null)
//   Extend(worker 0, 8, {4, 5})    order 1
//   Extend(worker 0, 8, {9})       order 1 goes on
//
// A list ends when its update is opened again or closed, when its work is cancelled, when its
// answer is refused, and when the worker is lost. Its unanswered partitions then belong to nobody.
// A partition in two lists of an update is a bug of the server: kInternal.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/fifo.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"
#include "coding/code_form.h"
#include "transport/wire/control.h"

namespace motley {

class OrderBook {
 public:
  struct Order {
    StepId step = 0;
    uint32_t number = 0;
    std::optional<Tally> tally;  // That all slices of the answer declare, once one came.
    size_t came = 0;             // Slices that came; for a list, since its last answer.
    // For a row:
    RowId row = 0;
    bool added = false;  // Part of it is in the sums.
    bool cancelled = false;
    bool waits = false;    // Its answer does not leave before FlushRow.
    bool settled = false;  // It arrived, came late or was refused, and the scheduler knows.
    // For a list:
    bool listed = false;
    std::vector<PartitionId> entries;
    size_t covered = 0;  // Entries that answers cover.
    size_t done = 0;     // Entries that the worker reported as done.
    // Entries asked back, one list for each unanswered request.
    std::vector<std::vector<PartitionId>> revoked;
    // The tallies of vectors that all shards have, and how many of them were added.
    std::vector<Tally> whole;
    uint32_t added_vectors = 0;
  };

  // An update that is open, or that was closed last.
  class Page {
   public:
    const Update& update() const { return update_; }
    bool open() const { return open_; }
    bool listed() const { return form_ == nullptr; }  // It uses lists.
    const CodeForm* form() const { return form_.get(); }
    uint32_t attempt() const { return attempt_; }  // How often it was opened.
    size_t missing() const { return missing_; }    // Partitions that no list's answer covers.
    // The order was given since the update was opened last.
    bool IsCurrent(const Order& order) const { return order.number > before_; }

   private:
    friend class OrderBook;
    enum class Lease : uint8_t { kFree, kGiven, kCovered };

    Update update_;
    std::shared_ptr<const CodeForm> form_;
    std::vector<Lease> leases_;  // By partition.
    size_t missing_ = 0;
    uint32_t before_ = 0;  // The last number before the update was opened last.
    uint32_t last_ = 0;    // The last number so far.
    uint32_t attempt_ = 0;
    bool open_ = false;
  };

  OrderBook(uint32_t workers, uint32_t partitions);

  // An update starts, or starts again, with rows of this code, or with lists if it is null. An
  // update that was closed may only start again while its page is kept.
  void Open(const Update& update, std::shared_ptr<const CodeForm> form);
  void Close(StepId id);
  // The page of an update that is open or was closed last; null for others.
  const Page* Find(StepId id) const;
  StepId newest() const { return newest_; }  // The highest update that was ever opened.
  uint32_t partitions() const { return partitions_; }

  // Adds a row of the open update to the orders of a worker that has no list. `waits`: its answer
  // waits for FlushRow. `ahead`: the worker goes on from the steps that it took ahead. The worker
  // takes the update's base version, or `least` if that is newer. Returns the message.
  const Bytes& GiveRow(WorkerId worker, StepId id, RowId row, bool waits = false,
                       bool ahead = false, uint64_t least = 0);
  // Adds partitions to the end of the worker's list, or starts a list if it has none.
  Result<wire::OrderT> Extend(WorkerId worker, StepId id, std::span<const PartitionId> partitions);
  // Asks the worker to give partitions back, or (Flush) to send its sum so far. Empty if it has no
  // list.
  std::optional<wire::RevokeT> Revoke(WorkerId worker, std::vector<PartitionId> partitions);
  std::optional<wire::FlushT> Flush(WorkerId worker);
  // Lets the answer to a row leave that waits. Empty if the worker has ended it.
  std::optional<wire::FlushT> FlushRow(WorkerId worker, StepId step, RowId row);
  // The same for all answers to this update that wait.
  std::vector<wire::FlushT> FlushAll(WorkerId worker, StepId step);
  // The worker's orders for updates up to this one are not needed and may end unfinished. Its list
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

  // The order counts: its update is open, and it was given since that was opened last.
  bool Counts(const Order& order) const {
    const Page* page = Find(order.step);
    return page != nullptr && page->open() && page->IsCurrent(order);
  }
  // An order with this number may have been given and has ended. Its answer is late, and nobody's
  // fault.
  bool Past(StepId step, uint32_t number) const;
  // True for the first late message with this number, and false for further ones.
  bool FirstLate(WorkerId worker, StepId step, uint32_t number);

 private:
  using Lease = Page::Lease;
  struct Seat {
    Fifo<Order> orders;                  // A list is the last one.
    std::pair<StepId, uint32_t> late{};  // The last late number that was counted.
  };
  Page* PageOf(StepId id) { return const_cast<Page*>(Find(id)); }
  Page& Fresh(StepId id);
  Order* ListOf(WorkerId worker);
  Order& Add(WorkerId worker, Page& page);

  const uint32_t partitions_;
  std::vector<Seat> seats_;
  std::vector<Page> pages_;
  StepId newest_ = 0;
  std::shared_ptr<const CodeForm> written_;  // The form that messages_ were made from,
  bool written_waits_ = false;               // and whether their orders wait.
  std::vector<Bytes> messages_;              // The message of each row; empty if not made yet.
};

}  // namespace motley
