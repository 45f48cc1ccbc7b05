// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

Status Belied(const Answers::Slice& slice, const Sketch& sketch) {
  const Claim& claim = slice.claim;
  const double norm = std::sqrt(sketch.squares);
  const bool of_norm = !(norm <= claim.norm_limit && norm >= claim.norm_least);
  return Status::DataError(
      fmt::format("slice {} of an answer has {} {:.9g} instead of the declared {:.9g}: its values "
                  "are not those that were sent",
                  slice.index, of_norm ? "norm" : "sketch", of_norm ? norm : sketch.projection,
                  of_norm ? claim.norm_limit : claim.projection));
}

// A late answer to a row of an open step would be taken for what that row is now.
Event Late(const OrderBook& orders, WorkerId worker, const OrderBook::Order& row) {
  const OrderBook::Page* page = orders.Find(row.step);
  if (page != nullptr && page->open() && !page->IsCurrent(row)) {
    return WorkerProgress{worker, 0, Duration::zero()};
  }
  return RowLate{worker, row.step, row.row};
}

}  // namespace

Answers::Answers(uint32_t workers, uint32_t partitions, Hooks hooks)
    : hooks_(std::move(hooks)), orders_(workers, partitions) {}

// --- Updates ---

// Sketches are kept of one update at a time.
AnswerLog* Answers::LogOf(StepId id) const {
  return log_ != nullptr && log_->Keeps(id) ? log_ : nullptr;
}

void Answers::SetRemote(RemoteShards* remote) {
  MOTLEY_ASSERT(open_.empty());
  remote_ = remote;
  log_ = nullptr;
}

Status Answers::Open(const Update& update, std::shared_ptr<const CodeForm> form,
                     KnownCounts counts) {
  const StepId id = update.id;
  if (!open_.contains(id)) {
    std::shared_ptr<UpdateSum> sum;
    if (remote_ == nullptr) {
      MOTLEY_ASSIGN_OR_RETURN(sum, hooks_.sum());
    }
    open_[id].sum = std::move(sum);
  }
  OpenUpdate& open = open_.at(id);
  if (open.sum != nullptr && form != nullptr) {
    open.sum->OpenRows(form);
  } else if (open.sum != nullptr) {
    open.sum->OpenLists();
  }
  open.counts = std::move(counts);
  open.row_done.assign(form != nullptr ? form->workers : 0, false);
  open.decodable = false;
  if (log_ != nullptr && form != nullptr) {
    log_->Open(id, form, open.sum->cut(), open.sum->ends());
  } else if (log_ != nullptr) {
    log_->OpenLeases(id, orders_.partitions(), open.sum->cut(), open.sum->ends());
  }
  const bool sent = form == nullptr || form->kept_parts == 0;
  orders_.Open(update, form);
  if (remote_ == nullptr || !sent) return Status::Ok();
  return remote_->Open(update, orders_.Find(id)->attempt(), form);
}

Answers::OpenUpdate Answers::End(StepId id) {
  const auto open = open_.extract(id);
  MOTLEY_ASSERT(!open.empty());
  orders_.Close(id);
  return std::move(open.mapped());
}

Result<std::shared_ptr<UpdateSum>> Answers::Close(StepId id) {
  const OpenUpdate open = End(id);
  const OrderBook::Page& page = *orders_.Find(id);
  MOTLEY_ASSERT(page.listed() || open.decodable || open.sum == nullptr);
  if (page.listed() && page.missing() > 0) {
    return Status::Internal(fmt::format("{} of {} partitions are in no vector that came",
                                        page.missing(), orders_.partitions()));
  }
  if (open.sum != nullptr) MOTLEY_RETURN_IF_ERROR(open.sum->Finish());
  return open.sum;
}

void Answers::GiveUp(StepId id) {
  if (open_.contains(id)) End(id);
}

Result<Answers::Approximation> Answers::CloseApproximately(StepId id) {
  const OpenUpdate open = End(id);
  MOTLEY_ASSERT(!orders_.Find(id)->listed());
  MOTLEY_ASSIGN_OR_RETURN(ApproximateDecoding best,
                          open.sum->FinishApproximately(static_cast<RowId>(open.row_done.size())));
  return Approximation{open.sum, std::move(best)};
}

bool Answers::decodable(StepId id) const {
  const auto found = open_.find(id);
  return found != open_.end() && found->second.decodable;
}

const Bytes& Answers::GiveRow(WorkerId worker, StepId id, RowId row) {
  const UpdateSum* sum = open_.at(id).sum.get();
  return orders_.GiveRow(worker, id, row, sum != nullptr ? sum->cut().count() : 0);
}

// --- Slices ---

Result<bool> Answers::Begin(WorkerId worker, const Header& header, bool fenced, Slice& slice) {
  slice.order = 0;
  if (remote_ != nullptr) return Status::DataError("a slice of a shard that a worker holds");
  const uint32_t number = header.row_id;
  Order* order = fenced ? nullptr : orders_.First(worker, header.step, number);
  if (order == nullptr && !fenced && !orders_.Past(header.step, number)) {
    Status why = Status::DataError(fmt::format(
        "an answer to order {} of step {}, which was not assigned", number, header.step));
    Order* first = orders_.First(worker);
    const bool counts = first != nullptr && orders_.Counts(*first);
    return counts ? Refuse(worker, *first, std::move(why)) : why;
  }
  if (order == nullptr || !orders_.Counts(*order)) {
    CountLate(worker, header, fenced, order);
    return false;
  }
  if (order->settled) return false;
  Status fine = Check(header, *order, slice);
  if (!fine.ok()) return Refuse(worker, *order, std::move(fine));
  MOTLEY_RETURN_IF_ERROR(open_.at(header.step).sum->MakeRoom(slice.index, slice.values));
  MOTLEY_RETURN_IF_ERROR(slice.packed.Begin(header));
  order->came.tally = header.tally;
  open_.at(header.step).sum->SawVersion(header.version);
  slice.step = header.step;
  slice.order = number;
  return true;
}

Status Answers::Check(const Header& header, const Order& order, Slice& slice) const {
  const OpenUpdate& open = open_.at(order.step);
  const OrderBook::Page& page = *orders_.Find(order.step);
  if (!order.listed && page.form()->kept_parts > 0) {
    return Status::DataError(fmt::format("an answer for row {} of step {}, which was to be kept",
                                         order.row, header.step));
  }
  MOTLEY_ASSIGN_OR_RETURN(slice.index, SliceOf(open.sum->cut(), header));
  MOTLEY_ASSIGN_OR_RETURN(slice.claim, ClaimOf(header));
  const uint64_t base = page.update().base_version;
  if (header.version < base || header.version > std::max(base, hooks_.newest())) {
    return Status::DataError(fmt::format(
        "an answer for step {} from parameters of version {}, where version {} was ordered",
        header.step, header.version, base));
  }
  MOTLEY_RETURN_IF_ERROR(order.came.Check(slice.index, header.tally, order.listed));
  if (order.came.tally || order.listed) return CheckTally(header.tally);
  return CheckTally(header.tally, open.counts, *page.form(), order.row);
}

Status Answers::Finish(WorkerId worker, Slice& slice) {
  const uint32_t number = std::exchange(slice.order, 0);
  if (number == 0) return Status::Ok();
  Order* order = orders_.First(worker, slice.step, number);
  if (order == nullptr) return Status::Ok();
  (void)slice.packed.Finish(slice.values);  // Bytes that make no sense become NaN.
  return order->listed ? FinishOfList(worker, *order, slice) : FinishRow(worker, *order, slice);
}

Status Answers::FinishRow(WorkerId worker, Order& row, Slice& slice) {
  std::vector<Event> events = std::exchange(events_, {});
  if (orders_.Counts(row)) {
    Status added = Decode(worker, row, slice, events);
    const auto sum = open_.at(row.step).sum;
    sum->GiveBack(std::exchange(slice.values, {}));
    if (added.code() == StatusCode::kResource) return added;
    row.added |= sum->Spoiled(slice.index);
    if (!added.ok()) return Refuse(worker, row, std::move(added));
  } else if (!std::exchange(row.settled, true)) {
    events.push_back(Late(orders_, worker, row));  // The step ended meanwhile.
  }
  for (Event& event : events) hooks_.raise(std::move(event));  // A hook may change anything here.
  events.clear();
  events_ = std::move(events);
  return Status::Ok();
}

Status Answers::Decode(WorkerId worker, Order& row, Slice& slice, std::vector<Event>& events) {
  const Tally& tally = *row.came.tally;
  OpenUpdate& open = open_.at(row.step);
  UpdateSum& sum = *open.sum;
  AnswerLog* const log = LogOf(row.step);
  double sketch = 0;  // Computed before the decoder takes the values.
  if (log != nullptr) {
    sketch = log->Project(slice.values, sum.cut().begin(slice.index), slice.claim.projection);
  }
  const auto outcome = sum.AddSlice(row.row, slice.index, slice.values, slice.claim, tally);
  if (!outcome.ok()) return outcome.status();
  const bool added = *outcome == StreamDecoder::Outcome::kAdded;
  if (log != nullptr) {
    // The decoder does not read slices that it does not need. Damage on the way is not the worker's
    // fault.
    const bool damaged =
        !added && log->secret() && !slice.claim.HoldsFor(SketchOf(slice.values, slice.claim.key));
    if (damaged) sketch = std::numeric_limits<double>::quiet_NaN();
    log->AddSlice(worker, row.row, slice.index, sketch, slice.claim, tally, added);
  }
  row.added |= added;
  row.came.Add(slice.index);
  const bool whole = row.came.count == sum.cut().count();
  if (!row.settled && open.row_done[row.row]) {  // Another worker was faster.
    row.settled = true;
    events.push_back(RowLate{worker, row.step, row.row});
  } else if (!row.settled && (added || whole) && sum.RowComplete(row.row)) {
    row.settled = true;
    open.row_done[row.row] = true;
    events.push_back(RowArrived{worker, row.step, row.row});
  }
  if (!open.decodable && sum.Decodable()) {
    open.decodable = true;
    events.push_back(StepDecodable{row.step});
  }
  return Status::Ok();
}

Status Answers::FinishOfList(WorkerId worker, Order& list, Slice& slice) {
  // The slice is still in the cache.
  const Sketch sketch = SketchOf(slice.values, slice.claim.key);
  if (!slice.claim.HoldsFor(sketch)) return Refuse(worker, list, Belied(slice, sketch));
  const Slicing& cut = open_.at(list.step).sum->cut();
  const size_t count = cut.count();
  if (list.came.count == 0) {
    list.came.seen.assign(count, false);
    list.slices.resize(count);
    list.sketches.resize(count);
  }
  list.came.Add(slice.index);
  if (AnswerLog* log = LogOf(list.step)) {
    list.sketches[slice.index] =
        log->Project(slice.values, cut.begin(slice.index), slice.claim.projection);
  }
  list.slices[slice.index] = std::exchange(slice.values, {});
  if (list.came.count < count) hooks_.raise(LeaseSlice{worker, slice.step});
  return Status::Ok();
}

// --- What workers say ---

Status Answers::OnProgress(WorkerId worker, const wire::ProgressT& progress) {
  Order* order = orders_.Find(worker, progress.step, progress.order);
  const Duration compute(static_cast<Duration::rep>(progress.compute_ns));
  if (order == nullptr || !order->listed) {
    const bool has = order != nullptr;
    hooks_.raise(
        WorkerProgress{worker, has ? progress.samples : 0, has ? compute : Duration::zero()});
    return Status::Ok();
  }
  if (progress.entries < order->done || progress.entries > order->entries.size()) {
    return Status::DataError(fmt::format("{} entries of a list of {} done, after {}",
                                         progress.entries, order->entries.size(), order->done));
  }
  order->done = progress.entries;
  hooks_.raise(LeaseProgress{worker, progress.step, progress.entries, compute});
  return Status::Ok();
}

Status Answers::OnReleased(WorkerId worker, const wire::ReleasedT& released) {
  Order* list = orders_.Find(worker, released.step, released.order);
  if (list == nullptr || !list->listed) {
    hooks_.raise(WorkerProgress{worker, 0, Duration::zero()});
    return Status::Ok();
  }
  MOTLEY_RETURN_IF_ERROR(orders_.TakeBack(*list, released));
  hooks_.raise(LeaseReleased{worker, released.step, released.partitions});
  return Status::Ok();
}

Result<bool> Answers::OnEnd(WorkerId worker, const wire::AnswerEndT& end) {
  Order* order = orders_.First(worker, end.step, end.order);
  if (order != nullptr && order->listed) {
    MOTLEY_RETURN_IF_ERROR(EndVector(worker, *order, end.entries));
  } else if (order != nullptr && end.entries == 0) {
    EndRow(worker, *order, end.finished);
  } else if (end.entries > 0 && orders_.Past(end.step, end.order)) {
    hooks_.raise(WorkerProgress{worker, 0, Duration::zero()});  // The list has ended.
  } else {
    return false;
  }
  return true;
}

void Answers::EndRow(WorkerId worker, const Order& row, bool finished) {
  orders_.EndFirst(worker);
  if (row.settled) return;
  const bool live = orders_.Counts(row) && !open_.at(row.step).row_done[row.row];
  if (live && finished && orders_.Find(row.step)->form()->kept_parts > 0) {
    hooks_.raise(RowArrived{worker, row.step, row.row});
  } else if (live && !row.cancelled) {
    // The slices that arrived are right and stay in the sums; another worker's answer completes
    // them.
    hooks_.raise(RowRejected{
        worker, row.step, row.row, false,
        remote_ != nullptr
            ? Status::DataError("the worker gave it up")
            : Status::DataError(fmt::format("{} of {} slices came{}", row.came.count,
                                            open_.at(row.step).sum->cut().count(),
                                            finished ? "" : ", and then the worker gave it up"))});
  } else if (finished) {
    hooks_.raise(Late(orders_, worker, row));
  }
}

Status Answers::CheckVector(const OpenUpdate& open, const Order& list, uint32_t entries,
                            Tally& tally) const {
  const size_t left = list.entries.size() - list.covered;
  if (entries == 0 || entries > left) {
    return Status::DataError(
        fmt::format("a vector over {} entries of a list that has {} left", entries, left));
  }
  if (open.sum == nullptr) {
    if (list.added_vectors >= list.whole.size()) return Status::DataError("no vector came");
    tally = list.whole[list.added_vectors];
  } else {
    const size_t slices = open.sum->cut().count();
    if (list.came.count < slices) {
      return Status::DataError(fmt::format("{} of {} slices came", list.came.count, slices));
    }
    tally = *list.came.tally;
  }
  return CheckTally(tally, open.counts, std::span(list.entries).subspan(list.covered, entries));
}

Status Answers::EndVector(WorkerId worker, Order& list, uint32_t entries) {
  OpenUpdate& open = open_.at(list.step);
  Tally tally;
  Status fine = CheckVector(open, list, entries, tally);
  if (!fine.ok()) return Refuse(worker, list, std::move(fine));
  const std::span<const PartitionId> covered = orders_.Cover(list, entries);
  if (open.sum != nullptr) {
    open.sum->AddVector(std::exchange(list.slices, {}), tally);
  } else {
    wire::ShardAddT add;
    add.step = list.step;
    add.attempt = orders_.Find(list.step)->attempt();
    add.worker = worker;
    add.order = list.number;
    add.row = list.added_vectors++;
    remote_->Add(add);
  }
  list.came = {};
  if (AnswerLog* log = LogOf(list.step))
    log->AddVector(worker, covered, std::move(list.sketches), tally);
  list.sketches = {};
  hooks_.covered(worker, list.step, covered);
  hooks_.raise(LeaseVector{worker, list.step, entries});
  return Status::Ok();
}

// --- What shards on other nodes report ---

bool Answers::Awaits(WorkerId worker, const wire::AnswerEndT& end) {
  if (remote_ == nullptr) return false;
  const Order* order = orders_.First(worker, end.step, end.order);
  if (order == nullptr || !orders_.Counts(*order) || order->settled || order->cancelled)
    return false;
  if (order->listed) return end.entries > 0 && order->added_vectors >= order->whole.size();
  const bool kept = orders_.Find(end.step)->form()->kept_parts > 0;
  return end.finished && !kept && !open_.at(end.step).row_done[order->row];
}

void Answers::OnWhole(const wire::ShardRowT& whole) {
  const auto found = open_.find(whole.step);
  const OrderBook::Page* page = orders_.Find(whole.step);
  if (found == open_.end() || page->attempt() != whole.attempt) return;
  OpenUpdate& open = found->second;
  const Tally tally{FromWire(whole.loss), FromWire(whole.weight)};
  Order* order = orders_.Find(whole.worker, whole.step, whole.order);
  if (page->listed()) {
    if (order == nullptr || !order->listed || order->settled) return;
    order->whole.push_back(tally);
    return;
  }
  if (whole.row >= open.row_done.size() || open.row_done[whole.row]) return;
  const Status fine = CheckTally(tally, open.counts, *page->form(), whole.row);
  if (order != nullptr) order->settled = true;
  if (!fine.ok()) {
    hooks_.raise(RowRejected{whole.worker, whole.step, whole.row, /*touched=*/true, fine});
    return;
  }
  open.row_done[whole.row] = true;
  hooks_.raise(RowArrived{whole.worker, whole.step, whole.row});
}

void Answers::OnSummed(StepId id) {
  if (!open_.contains(id) || std::exchange(open_.at(id).decodable, true)) return;
  hooks_.raise(StepDecodable{id});
}

void Answers::OnRefused(const wire::ShardRefusedT& refused) {
  const OrderBook::Page* page = orders_.Find(refused.step);
  if (!open_.contains(refused.step) || page->attempt() != refused.attempt) return;
  Status why = Status::DataError(refused.error);
  Order* order = orders_.Find(refused.worker, refused.step, refused.order);
  if (order != nullptr) {
    order->added |= refused.touched;
    (void)Refuse(refused.worker, *order, std::move(why));  // The event says it all.
  } else if (refused.touched && !page->listed()) {
    hooks_.raise(RowRejected{refused.worker, refused.step, refused.row, true, std::move(why)});
  }
}

// --- What does not count ---

// Counts a late answer once per order, however many slices of it come.
void Answers::CountLate(WorkerId worker, const Header& header, bool fenced, Order* row) {
  const OrderBook::Page* page = orders_.Find(header.step);
  if (row != nullptr) {
    // An earlier attempt at the step may have used this row number for another row.
    const bool comparable = page == nullptr || page->IsCurrent(*row);
    if (log_ != nullptr && comparable) log_->AddLate(worker, row->row, header);
    if (!std::exchange(row->settled, true)) hooks_.raise(Late(orders_, worker, *row));
    return;
  }
  if (!orders_.FirstLate(worker, header.step, header.row_id)) return;
  // An earlier incarnation's answer to an open step would look like this one's own.
  const bool of_open_step = page != nullptr && page->open();
  if (header.step > orders_.newest() || (of_open_step && (fenced || !page->listed()))) return;
  hooks_.raise(RowLate{worker, header.step});
}

Status Answers::Refuse(WorkerId worker, Order& order, Status why) {
  if (std::exchange(order.settled, true)) return why;
  const RowRejected rejected{worker, order.step, order.row, order.added, why};
  if (order.listed) {
    // Further slices of the list are not late, but refused.
    orders_.FirstLate(worker, order.step, order.number);
    orders_.EndList(worker);
  }
  hooks_.raise(rejected);
  return why;
}

}  // namespace motley
