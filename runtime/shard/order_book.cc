// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/order_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "runtime/links/messages.h"

namespace motley {

OrderBook::OrderBook(uint32_t workers, uint32_t partitions)
    : partitions_(partitions), seats_(workers) {}

// --- Updates ---

const OrderBook::Page* OrderBook::Find(StepId id) const {
  for (const Page& page : pages_) {
    if (page.update_.id == id) return &page;
  }
  return nullptr;
}

// The page of a closed update makes room for another one.
OrderBook::Page& OrderBook::Fresh(StepId id) {
  for (Page& page : pages_) {
    if (page.open_) continue;
    page.last_ = 0;
    page.attempt_ = 0;
    page.update_.id = id;
    return page;
  }
  pages_.emplace_back();
  return pages_.back();
}

void OrderBook::Open(const Update& update, std::shared_ptr<const CodeForm> form) {
  Close(update.id);
  Page* known = PageOf(update.id);
  // Without its page, an update's numbers would begin again, and old orders would count.
  MOTLEY_ASSERT(known != nullptr || pages_.empty() || update.id > newest_);
  Page& page = known != nullptr ? *known : Fresh(update.id);
  page.update_ = update;
  page.leases_.assign(partitions_, Lease::kFree);
  page.missing_ = partitions_;
  page.form_ = std::move(form);
  page.before_ = page.last_;
  ++page.attempt_;
  page.open_ = true;
  newest_ = std::max(newest_, update.id);
}

void OrderBook::Close(StepId id) {
  for (WorkerId worker = 0; worker < seats_.size(); ++worker) {
    const Order* list = ListOf(worker);
    if (list != nullptr && list->step == id) EndList(worker);
  }
  if (Page* page = PageOf(id)) page->open_ = false;
}

// --- What workers are sent ---

OrderBook::Order& OrderBook::Add(WorkerId worker, Page& page) {
  Order& order = seats_[worker].orders.push();
  order = Order{.step = page.update_.id, .number = ++page.last_};
  return order;
}

// A row's message differs from step to step only by its numbers.
const Bytes& OrderBook::GiveRow(WorkerId worker, StepId id, RowId row, bool waits, bool ahead,
                                uint64_t least) {
  Page* page = PageOf(id);
  MOTLEY_ASSERT(page != nullptr && page->open_ && !page->listed());
  MOTLEY_ASSERT(ListOf(worker) == nullptr);  // A list is the last order of its worker.
  const CodeForm& form = *page->form_;
  MOTLEY_ASSERT(row < form.rows.size());
  Order& given = Add(worker, *page);
  given.row = row;
  given.waits = waits;
  if (page->form_ != written_ || written_waits_ != waits) {
    messages_.assign(form.rows.size(), {});
    written_ = page->form_;
    written_waits_ = waits;
  }
  Update update = page->update_;
  update.base_version = std::max(update.base_version, least);
  Bytes& message = messages_[row];
  if (!message.empty() && SetOrder(message, update, given.number, page->attempt_, ahead)) {
    return message;
  }
  RowRuns runs = RunsOf(form, row);
  wire::OrderT order;
  order.step = update.id;
  order.version = update.base_version;
  order.order = given.number;
  order.cover_known = true;
  order.complex_packed = form.field == Field::kComplexPacked;
  order.terms = std::move(runs.terms);
  order.parts = form.parts;
  order.keep = form.kept_parts > 0;
  order.other_parts = std::move(runs.other_parts);
  order.attempt = page->attempt_;
  order.row = row;
  order.waits = waits;
  order.ahead = ahead;
  message = EncodeControl(order);
  return message;
}

Result<wire::OrderT> OrderBook::Extend(WorkerId worker, StepId id,
                                       std::span<const PartitionId> partitions) {
  Page* page = PageOf(id);
  MOTLEY_ASSERT(page != nullptr && page->open_ && page->listed());
  Order* list = ListOf(worker);
  if (list != nullptr && list->step != id) {
    return Status::Internal(fmt::format("worker {} has a list of step {} beside one of step {}",
                                        worker, list->step, id));
  }
  std::vector<Lease>& leases = page->leases_;
  if (list == nullptr) {
    list = &Add(worker, *page);
    list->listed = true;
  }
  for (const PartitionId p : partitions) {
    if (p >= leases.size() || leases[p] != Lease::kFree) {
      return Status::Internal(fmt::format("partition {} of step {} was leased to worker {} {}", p,
                                          id, worker,
                                          p >= leases.size()             ? "and does not exist"
                                          : leases[p] == Lease::kCovered ? "after it had come"
                                                                         : "beside another"));
    }
    leases[p] = Lease::kGiven;
    list->entries.push_back(p);
  }
  wire::OrderT order;
  order.step = id;
  order.version = page->update_.base_version;
  order.order = list->number;
  order.revocable = true;
  order.attempt = page->attempt_;
  order.partitions.assign(partitions.begin(), partitions.end());
  return order;
}

std::optional<wire::RevokeT> OrderBook::Revoke(WorkerId worker,
                                               std::vector<PartitionId> partitions) {
  Order* list = ListOf(worker);
  if (list == nullptr) return std::nullopt;
  wire::RevokeT revoke;
  revoke.step = list->step;
  revoke.order = list->number;
  revoke.partitions = partitions;
  list->revoked.push_back(std::move(partitions));
  return revoke;
}

std::optional<wire::FlushT> OrderBook::Flush(WorkerId worker) {
  const Order* list = ListOf(worker);
  if (list == nullptr) return std::nullopt;
  wire::FlushT flush;
  flush.step = list->step;
  flush.order = list->number;
  return flush;
}

std::optional<wire::FlushT> OrderBook::FlushRow(WorkerId worker, StepId step, RowId row) {
  for (const wire::FlushT& flush : FlushAll(worker, step)) {
    if (Find(worker, step, flush.order)->row == row) return flush;
  }
  return std::nullopt;
}

std::vector<wire::FlushT> OrderBook::FlushAll(WorkerId worker, StepId step) {
  std::vector<wire::FlushT> all;
  Fifo<Order>& orders = seats_[worker].orders;
  for (size_t i = 0; i < orders.size(); ++i) {
    if (!orders[i].waits || orders[i].step != step) continue;
    wire::FlushT flush;
    flush.step = step;
    flush.order = orders[i].number;
    all.push_back(flush);
  }
  return all;
}

wire::CancelT OrderBook::Cancel(WorkerId worker, StepId step) {
  const Order* list = ListOf(worker);
  if (list != nullptr && list->step <= step) EndList(worker);
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
  Page& page = *PageOf(list.step);
  for (size_t i = list.covered; i < list.entries.size(); ++i) {
    page.leases_[list.entries[i]] = Lease::kFree;
  }
}

Status OrderBook::TakeBack(Order& list, const wire::ReleasedT& released) {
  MOTLEY_RETURN_IF_ERROR(CheckPartitions(released.partitions, partitions_));
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
    PageOf(list.step)->leases_[p] = Lease::kFree;
  }
  return Status::Ok();
}

std::span<const PartitionId> OrderBook::Cover(Order& list, uint32_t entries) {
  const std::span<const PartitionId> covered =
      std::span(list.entries).subspan(list.covered, entries);
  Page& page = *PageOf(list.step);
  for (const PartitionId p : covered) page.leases_[p] = Lease::kCovered;
  page.missing_ -= entries;
  list.covered += entries;
  list.done = std::max(list.done, list.covered);
  return covered;
}

bool OrderBook::Past(StepId step, uint32_t number) const {
  const Page* page = Find(step);
  if (page == nullptr || !page->open_) return step <= newest_;
  return number > 0 && number <= (page->listed() ? page->last_ : page->before_);
}

bool OrderBook::FirstLate(WorkerId worker, StepId step, uint32_t number) {
  return std::exchange(seats_[worker].late, {step, number}) != std::pair(step, number);
}

}  // namespace motley
