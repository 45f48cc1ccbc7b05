// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/order_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "runtime/links/messages.h"

namespace motley {

OrderBook::OrderBook(uint32_t workers, uint32_t partitions)
    : seats_(workers), leases_(partitions, Lease::kFree) {}

// --- Steps ---

void OrderBook::Open(StepId step, std::shared_ptr<const CodeForm> form) {
  Close();
  std::fill(leases_.begin(), leases_.end(), Lease::kFree);
  missing_ = leases_.size();
  form_ = std::move(form);
  if (form_ != nullptr && form_ != written_) {
    messages_.assign(form_->rows.size(), {});
    written_ = form_;
  }
  if (step != step_) last_ = 0;
  before_ = last_;
  step_ = step;
  open_ = true;
}

void OrderBook::Close() {
  for (WorkerId worker = 0; worker < seats_.size(); ++worker) EndList(worker);
  open_ = false;
}

// --- What workers are sent ---

OrderBook::Order& OrderBook::Add(WorkerId worker) {
  Order& order = seats_[worker].orders.push();
  SlicesCame came = std::move(order.came);  // The memory is used again.
  order = Order{.step = step_, .number = ++last_, .came = std::move(came)};
  return order;
}

// A row's message differs from step to step only by its numbers.
const Bytes& OrderBook::GiveRow(WorkerId worker, RowId row, size_t slices) {
  MOTLEY_ASSERT(open_ && !listed() && row < form_->rows.size());
  Order& given = Add(worker);
  given.came.Start(slices);
  given.row = row;
  Bytes& message = messages_[row];
  if (!message.empty() && SetOrder(message, step_, last_)) return message;
  RowRuns runs = RunsOf(*form_, row);
  wire::OrderT order;
  order.step = step_;
  order.version = step_;
  order.order = last_;
  order.cover_known = true;
  order.complex_packed = form_->field == Field::kComplexPacked;
  order.terms = std::move(runs.terms);
  order.parts = form_->parts;
  order.keep = form_->kept_parts > 0;
  order.other_parts = std::move(runs.other_parts);
  message = EncodeControl(order);
  return message;
}

Result<wire::OrderT> OrderBook::Extend(WorkerId worker, std::span<const PartitionId> partitions) {
  MOTLEY_ASSERT(open_ && listed());
  Order* list = ListOf(worker);
  if (list == nullptr) {
    list = &Add(worker);
    list->listed = true;
    list->came = {};
  }
  for (const PartitionId p : partitions) {
    if (p >= leases_.size() || leases_[p] != Lease::kFree) {
      return Status::Internal(fmt::format("partition {} of step {} was leased to worker {} {}", p,
                                          step_, worker,
                                          p >= leases_.size()             ? "and does not exist"
                                          : leases_[p] == Lease::kCovered ? "after it had come"
                                                                          : "beside another"));
    }
    leases_[p] = Lease::kGiven;
    list->entries.push_back(p);
  }
  wire::OrderT order;
  order.step = step_;
  order.version = step_;
  order.order = list->number;
  order.revocable = true;
  order.partitions.assign(partitions.begin(), partitions.end());
  return order;
}

std::optional<wire::RevokeT> OrderBook::Revoke(WorkerId worker,
                                               std::vector<PartitionId> partitions) {
  Order* list = ListOf(worker);
  if (list == nullptr) return std::nullopt;
  wire::RevokeT revoke;
  revoke.step = step_;
  revoke.order = list->number;
  revoke.partitions = partitions;
  list->revoked.push_back(std::move(partitions));
  return revoke;
}

std::optional<wire::FlushT> OrderBook::Flush(WorkerId worker) {
  const Order* list = ListOf(worker);
  if (list == nullptr) return std::nullopt;
  wire::FlushT flush;
  flush.step = step_;
  flush.order = list->number;
  return flush;
}

wire::CancelT OrderBook::Cancel(WorkerId worker, StepId step) {
  if (step_ <= step) EndList(worker);
  Fifo<Order>& orders = seats_[worker].orders;
  for (size_t i = 0; i < orders.size(); ++i) orders[i].cancelled |= orders[i].step <= step;
  wire::CancelT cancel;
  cancel.step = step;
  return cancel;
}

std::optional<wire::CancelT> OrderBook::CancelRow(WorkerId worker, StepId step, RowId row) {
  std::optional<wire::CancelT> cancel;
  Fifo<Order>& orders = seats_[worker].orders;
  for (size_t i = 0; i < orders.size(); ++i) {
    Order& order = orders[i];
    if (order.listed || order.step != step || order.row != row) continue;
    order.cancelled = true;
    cancel.emplace();
    cancel->step = step;
    cancel->order = order.number;
  }
  return cancel;
}

void OrderBook::Forget(WorkerId worker) {
  EndList(worker);
  seats_[worker] = Seat();
}

// --- What they answer ---

OrderBook::Order* OrderBook::First(WorkerId worker) {
  Fifo<Order>& orders = seats_[worker].orders;
  return orders.empty() ? nullptr : &orders.front();
}

OrderBook::Order* OrderBook::First(WorkerId worker, StepId step, uint32_t number) {
  Order* first = First(worker);
  return first != nullptr && first->step == step && first->number == number ? first : nullptr;
}

OrderBook::Order* OrderBook::Find(WorkerId worker, StepId step, uint32_t number) {
  Fifo<Order>& orders = seats_[worker].orders;
  for (size_t i = 0; i < orders.size(); ++i) {
    if (orders[i].step == step && orders[i].number == number) return &orders[i];
  }
  return nullptr;
}

OrderBook::Order* OrderBook::ListOf(WorkerId worker) {
  Fifo<Order>& orders = seats_[worker].orders;
  return orders.empty() || !orders[orders.size() - 1].listed ? nullptr : &orders[orders.size() - 1];
}

void OrderBook::EndList(WorkerId worker) {
  if (ListOf(worker) == nullptr) return;
  Fifo<Order>& orders = seats_[worker].orders;
  const Order list = orders.Take(orders.size() - 1);
  for (size_t i = list.covered; i < list.entries.size(); ++i) {
    leases_[list.entries[i]] = Lease::kFree;
  }
}

Status OrderBook::TakeBack(Order& list, const wire::ReleasedT& released) {
  MOTLEY_RETURN_IF_ERROR(CheckPartitions(released.partitions, leases_.size()));
  if (list.revoked.empty()) return Status::DataError("partitions given back that nobody wanted");
  const std::vector<PartitionId> asked = std::move(list.revoked.front());
  list.revoked.erase(list.revoked.begin());
  for (const PartitionId p : released.partitions) {
    const auto unstarted =
        list.entries.begin() + static_cast<std::ptrdiff_t>(std::max(list.done, list.covered));
    const auto at = std::find(unstarted, list.entries.end(), p);
    if (at == list.entries.end() || std::find(asked.begin(), asked.end(), p) == asked.end()) {
      return Status::DataError(
          fmt::format("partition {} given back, which was {}", p,
                      at == list.entries.end() ? "not on the list, or computed" : "not asked for"));
    }
    list.entries.erase(at);
    leases_[p] = Lease::kFree;
  }
  return Status::Ok();
}

std::span<const PartitionId> OrderBook::Cover(Order& list, uint32_t entries) {
  const std::span<const PartitionId> covered =
      std::span(list.entries).subspan(list.covered, entries);
  for (const PartitionId p : covered) leases_[p] = Lease::kCovered;
  missing_ -= entries;
  list.covered += entries;
  list.done = std::max(list.done, list.covered);
  return covered;
}

bool OrderBook::Past(StepId step, uint32_t number) const {
  if (step != step_ || !open_) return step <= step_;
  return number > 0 && number <= (listed() ? last_ : before_);
}

bool OrderBook::FirstLate(WorkerId worker, StepId step, uint32_t number) {
  return std::exchange(seats_[worker].late, {step, number}) != std::pair(step, number);
}

}  // namespace motley
