// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

// A late answer to a row of an open step would be taken for what that row is now.
Event Late(const OrderBook& orders, WorkerId worker, const OrderBook::Order& row) {
  const OrderBook::Page* page = orders.Find(row.step);
  if (page != nullptr && page->open() && !page->IsCurrent(row)) {
    return WorkerProgress{worker, 0, Duration::zero()};
  }
  return RowLate{worker, row.step, row.row};
}

// The answer has ended. `sum` is null if its slices went to other nodes.
Status Missing(const OrderBook::Order& order, const UpdateSum* sum) {
  if (sum == nullptr) return Status::DataError("slices of the answer are missing");
  return Status::DataError(fmt::format("{} of {} slices came", order.came, sum->cut().count()));
}

}  // namespace

Answers::Answers(uint32_t workers, uint32_t partitions, Hooks hooks)
    : hooks_(std::move(hooks)), orders_(workers, partitions) {}

// --- Updates ---

void Answers::SetRemote(RemoteShards* remote) {
  MOTLEY_ASSERT(open_.empty());
  remote_ = remote;
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
  open.counts = std::move(counts);
  open.row_done.assign(form != nullptr ? form->workers : 0, false);
  open.decodable = false;
  orders_.Open(update, form);
  const uint32_t attempt = orders_.Find(id)->attempt();
  if (open.sum != nullptr) {
    using Answer = UpdateSum::Answer;
    UpdateSum::Hooks hooks;
    hooks.arrived = [this, id](const Answer& answer) { Whole(id, answer); };
    hooks.decodable = [this, id] { OnSummed(id); };
    hooks.refused = [this, id](const Answer& answer, bool touched, const Status& why) {
      Refused(id, answer, touched, why);
    };
    hooks.came = [this, id](const Answer& answer, bool added) { Came(id, answer, added); };
    open.sum->Open(update, attempt, form, std::move(hooks), log_);
  }
  // The slices of shards on other nodes are logged there.
  if (log_ != nullptr) {
    const Slicing cut = open.sum != nullptr ? open.sum->cut() : remote_->CutOf(form.get());
    const std::vector<size_t> ends =
        open.sum != nullptr ? open.sum->ends() : remote_->placement().route().ends();
    if (form != nullptr) {
      log_->Open(id, form, cut, ends);
    } else {
      log_->OpenLeases(id, orders_.partitions(), cut, ends);
    }
  }
  const bool sent = form == nullptr || form->kept_parts == 0;
  return remote_ != nullptr && sent ? remote_->Open(update, attempt, form) : Status::Ok();
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
  if (open.sum != nullptr) MOTLEY_RETURN_IF_ERROR(open.sum->EndSum());
  return open.sum;
}

void Answers::GiveUp(StepId id) {
  if (open_.contains(id)) End(id);
}

Result<Answers::Approximation> Answers::CloseApproximately(StepId id) {
  const OpenUpdate open = End(id);
  MOTLEY_ASSERT(!orders_.Find(id)->listed());
  MOTLEY_ASSIGN_OR_RETURN(ApproximateDecoding best, open.sum->EndApproximately());
  return Approximation{open.sum, std::move(best)};
}

bool Answers::decodable(StepId id) const {
  const auto found = open_.find(id);
  return found != open_.end() && found->second.decodable;
}

const Bytes& Answers::GiveRow(WorkerId worker, StepId id, RowId row, bool waits, bool ahead) {
  return orders_.GiveRow(worker, id, row, waits, ahead, hooks_.sent ? hooks_.newest() : 0);
}

// --- Slices ---

Result<bool> Answers::Begin(WorkerId worker, const Header& header, bool fenced, Slice& slice) {
  slice.coming = false;
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
  if (Status fine = Check(header, *order); !fine.ok()) {
    return Refuse(worker, *order, std::move(fine));
  }
  ParameterCopy computed_with;
  if (hooks_.sent) {
    computed_with = hooks_.sent(worker, header.version);
    if (computed_with == nullptr) {
      return Refuse(worker, *order,
                    Status::DataError(fmt::format(
                        "an answer for step {} from parameters of version {}, which the worker "
                        "was not sent for it",
                        header.step, header.version)));
    }
  }
  const OrderBook::Page& page = *orders_.Find(order->step);
  UpdateSum& sum = *open_.at(order->step).sum;
  // The order says what the answer is for. A newer version than ordered is as good.
  Header own = header;
  own.attempt = page.attempt();
  own.row = order->listed ? order->added_vectors : order->row;
  own.version = page.update().base_version;
  Result<bool> wanted = sum.Begin(worker, own, slice);
  if (wanted.code() == StatusCode::kDataError) return Refuse(worker, *order, wanted.status());
  if (!wanted.ok() || !*wanted) return wanted;
  order->tally = header.tally;
  sum.Saw(worker, header.version, computed_with);
  return true;
}

Status Answers::Check(const Header& header, const Order& order) const {
  const OrderBook::Page& page = *orders_.Find(order.step);
  if (!order.listed && page.form()->kept_parts > 0) {
    return Status::DataError(fmt::format("an answer for row {} of step {}, which was to be kept",
                                         order.row, header.step));
  }
  const uint64_t base = page.update().base_version;
  if (header.version < base || header.version > std::max(base, hooks_.newest())) {
    return Status::DataError(fmt::format(
        "an answer for step {} from parameters of version {}, where version {} was ordered",
        header.step, header.version, base));
  }
  if (order.tally && *order.tally != header.tally) {
    return Status::DataError("a slice of an answer declares another loss or weight than the first");
  }
  if (order.tally || order.listed) return CheckTally(header.tally);
  return CheckTally(header.tally, open_.at(order.step).counts, *page.form(), order.row);
}

Status Answers::Finish(WorkerId worker, Slice& slice) {
  if (!slice.coming) return Status::Ok();
  const StepId step = slice.header.step;
  Order* order = orders_.First(worker, step, slice.header.row_id);
  if (order == nullptr || !orders_.Counts(*order)) {
    slice.coming = false;  // The step ended meanwhile.
    const bool late = order != nullptr && !std::exchange(order->settled, true);
    if (late) hooks_.raise(Late(orders_, worker, *order));
    return Status::Ok();
  }
  finishing_ = true;
  const Status added = open_.at(step).sum->Finish(worker, slice);
  finishing_ = false;
  const Status refusal = std::exchange(refusal_, Status::Ok());
  std::vector<Event> events = std::exchange(events_, {});
  if (!added.ok()) return added;
  for (Event& event : events) hooks_.raise(std::move(event));  // A hook may change anything here.
  events.clear();
  events_ = std::move(events);
  return refusal;
}

void Answers::Raise(Event event) {
  if (!finishing_) return hooks_.raise(std::move(event));
  events_.push_back(std::move(event));
}

// --- What the sums report ---

void Answers::Came(StepId id, const UpdateSum::Answer& answer, bool added) {
  Order& order = *orders_.Find(answer.worker, id, answer.order);
  const OpenUpdate& open = open_.at(id);
  ++order.came;
  if (order.listed) {
    if (order.came < open.sum->cut().count()) Raise(LeaseSlice{answer.worker, id});
    return;
  }
  order.added |= added;
  if (open.row_done[answer.row] && !std::exchange(order.settled, true)) {
    Raise(RowLate{answer.worker, id, answer.row});  // Another worker was faster.
  }
}

void Answers::Whole(StepId id, const UpdateSum::Answer& answer) {
  OpenUpdate& open = open_.at(id);
  const OrderBook::Page& page = *orders_.Find(id);
  Order* order = orders_.Find(answer.worker, id, answer.order);
  if (page.listed()) {
    const bool counts = order != nullptr && order->listed && !order->settled;
    if (counts) order->whole.push_back(answer.tally);
    return;
  }
  if (answer.row >= open.row_done.size() || open.row_done[answer.row]) return;
  const Status fine = CheckTally(answer.tally, open.counts, *page.form(), answer.row);
  if (order != nullptr) order->settled = true;
  if (!fine.ok()) {
    return Raise(RowRejected{answer.worker, id, answer.row, /*touched=*/true, fine});
  }
  open.row_done[answer.row] = true;
  Raise(RowArrived{answer.worker, id, answer.row});
}

void Answers::Refused(StepId id, const UpdateSum::Answer& answer, bool touched, const Status& why) {
  Order* order = orders_.Find(answer.worker, id, answer.order);
  if (order != nullptr) {
    order->added |= touched;
    refusal_ = Refuse(answer.worker, *order, why);
  } else if (touched && !orders_.Find(id)->listed()) {
    Raise(RowRejected{answer.worker, id, answer.row, true, why});
  }
}

void Answers::OnSummed(StepId id) {
  if (!open_.contains(id) || std::exchange(open_.at(id).decodable, true)) return;
  Raise(StepDecodable{id});
}

// --- What workers say ---

Status Answers::OnProgress(WorkerId worker, const wire::ProgressT& progress) {
  Order* order = orders_.Find(worker, progress.step, progress.order);
  const Duration compute(static_cast<Duration::rep>(progress.compute_ns));
  if (order == nullptr || !order->listed) {
    const bool has = order != nullptr;
    const bool asks = has && progress.ready && order->waits && !order->cancelled &&
                      !order->settled && orders_.Counts(*order);
    if (asks) {
      hooks_.raise(RowReady{worker, order->step, order->row});
      return Status::Ok();
    }
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
    hooks_.raise(RowRejected{worker, row.step, row.row, false,
                             finished ? Missing(row, open_.at(row.step).sum.get())
                                      : Status::DataError("the worker gave it up")});
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
  if (list.added_vectors >= list.whole.size()) return Missing(list, open.sum.get());
  tally = list.whole[list.added_vectors];
  return CheckTally(tally, open.counts, std::span(list.entries).subspan(list.covered, entries));
}

Status Answers::EndVector(WorkerId worker, Order& list, uint32_t entries) {
  OpenUpdate& open = open_.at(list.step);
  Tally tally;
  Status fine = CheckVector(open, list, entries, tally);
  if (!fine.ok()) return Refuse(worker, list, std::move(fine));
  const std::span<const PartitionId> covered = orders_.Cover(list, entries);
  const uint32_t vector = list.added_vectors++;
  std::vector<double> sketches;
  if (open.sum != nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(sketches, open.sum->Add({worker, list.number, vector, tally}));
  } else {
    wire::ShardAddT add;
    add.step = list.step;
    add.attempt = orders_.Find(list.step)->attempt();
    add.worker = worker;
    add.order = list.number;
    add.row = vector;
    remote_->Add(add);
  }
  const bool logs = log_ != nullptr && log_->Keeps(list.step);
  if (logs) log_->AddVector(worker, covered, std::move(sketches), tally);
  list.came = 0;
  list.tally.reset();
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
  const OrderBook::Page* page = orders_.Find(whole.step);
  if (!open_.contains(whole.step) || page->attempt() != whole.attempt) return;
  const Tally tally{FromWire(whole.loss), FromWire(whole.weight)};
  Whole(whole.step, {whole.worker, whole.order, whole.row, tally});
}

void Answers::OnRefused(const wire::ShardRefusedT& refused) {
  const OrderBook::Page* page = orders_.Find(refused.step);
  if (!open_.contains(refused.step) || page->attempt() != refused.attempt) return;
  Refused(refused.step, {refused.worker, refused.order, refused.row, {}}, refused.touched,
          Status::DataError(refused.error));
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
  Raise(rejected);
  return why;
}

}  // namespace motley
