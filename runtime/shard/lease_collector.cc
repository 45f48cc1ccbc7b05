// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/lease_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "coding/kernels/combine.h"
#include "coding/kernels/sketch.h"
#include "runtime/links/messages.h"
#include "runtime/memory_need.h"

namespace motley {
namespace {

constexpr size_t kGrain = 1u << 14;  // Floats that are worth a thread.

Status Belied(const LeaseCollector::Slice& slice, const Sketch& sketch) {
  const Claim& claim = slice.claim;
  const double norm = std::sqrt(sketch.squares);
  const bool of_norm = !(norm <= claim.norm_limit && norm >= claim.norm_least);
  return Status::DataError(
      fmt::format("slice {} of an answer has {} {:.9g} instead of the declared {:.9g}: its values "
                  "are not those that were sent",
                  slice.index, of_norm ? "norm" : "sketch", of_norm ? norm : sketch.projection,
                  of_norm ? claim.norm_limit : claim.projection));
}

}  // namespace

struct LeaseCollector::Vector {
  AlignedVector values;
  std::vector<bool> seen;  // By slice.
  size_t seen_count = 0;
  std::optional<Tally> tally;    // As its headers declare.
  std::vector<double> sketches;  // By slice, for the log.
};

LeaseCollector::LeaseCollector(uint32_t workers, uint32_t partitions, size_t length,
                               size_t slice_length, ParallelFor& parallel, Hooks hooks)
    : cut_{length, slice_length},
      parallel_(parallel),
      hooks_(std::move(hooks)),
      seats_(workers),
      leases_(partitions, Lease::kFree),
      last_list_(kFirstList) {}

LeaseCollector::~LeaseCollector() = default;

// --- Steps ---

void LeaseCollector::Open(StepId step, std::span<float> sum, KnownCounts counts) {
  MOTLEY_ASSERT(sum.size() == cut_.total);
  Abandon();
  std::fill(leases_.begin(), leases_.end(), Lease::kFree);
  missing_ = leases_.size();
  step_ = step;
  sum_ = sum;
  tally_ = Tally();
  counts_ = std::move(counts);
  open_ = true;
  empty_ = true;
  if (log_ != nullptr) log_->OpenLeases(step, static_cast<uint32_t>(leases_.size()), cut_);
}

bool LeaseCollector::used() const { return last_list_ > kFirstList; }

void LeaseCollector::Abandon() {
  if (!open_) return;  // Lists end with their step.
  for (Seat& seat : seats_) EndList(seat);
  open_ = false;
}

Status LeaseCollector::Close() {
  MOTLEY_ASSERT(open_);
  Abandon();
  if (missing_ == 0) return Status::Ok();
  return Status::Internal(
      fmt::format("{} of {} partitions are in no vector that came", missing_, leases_.size()));
}

// --- Lists ---

void LeaseCollector::EndList(Seat& seat) {
  for (size_t i = seat.covered; i < seat.entries.size(); ++i) {
    leases_[seat.entries[i]] = Lease::kFree;
  }
  const uint32_t late_list = seat.late_list;
  seat = Seat();
  seat.late_list = late_list;
}

Result<uint32_t> LeaseCollector::Extend(WorkerId worker, std::span<const PartitionId> partitions) {
  MOTLEY_ASSERT(open_);
  Seat& seat = seats_[worker];
  for (const PartitionId p : partitions) {
    if (p >= leases_.size() || leases_[p] != Lease::kFree) {
      return Status::Internal(fmt::format("partition {} of step {} was leased to worker {} {}", p,
                                          step_, worker,
                                          p >= leases_.size()             ? "and does not exist"
                                          : leases_[p] == Lease::kCovered ? "after it had come"
                                                                          : "beside another"));
    }
    leases_[p] = Lease::kGiven;
    seat.entries.push_back(p);
  }
  if (!seat.list) seat.list = ++last_list_;
  return *seat.list;
}

std::optional<uint32_t> LeaseCollector::Revoke(WorkerId worker,
                                               std::vector<PartitionId> partitions) {
  Seat& seat = seats_[worker];
  if (seat.list) seat.revoked.push_back(std::move(partitions));
  return seat.list;
}

std::optional<uint32_t> LeaseCollector::ListOf(WorkerId worker) const {
  return seats_[worker].list;
}

void LeaseCollector::Cancel(WorkerId worker, StepId step) {
  if (step_ <= step) EndList(seats_[worker]);
}

void LeaseCollector::Forget(WorkerId worker) {
  EndList(seats_[worker]);
  seats_[worker].late_list = 0;
}

bool LeaseCollector::IsCurrent(const Seat& seat, StepId step, uint32_t list) const {
  return open_ && step == step_ && seat.list == list;
}

// --- Slices ---

// Of connections that went while a slice was arriving, one may still be held.
Result<std::shared_ptr<LeaseCollector::Vector>> LeaseCollector::Spare() {
  for (const auto& vector : vectors_) {
    if (vector.use_count() > 1) continue;
    vector->seen.assign(cut_.count(), false);
    vector->seen_count = 0;
    vector->tally.reset();
    return vector;
  }
  return OrNoMemory("a vector that arrives", [this]() -> Result<std::shared_ptr<Vector>> {
    auto fresh = std::make_shared<Vector>();
    fresh->values.resize(cut_.total);
    fresh->seen.assign(cut_.count(), false);
    vectors_.push_back(fresh);
    return fresh;
  });
}

Result<bool> LeaseCollector::Begin(WorkerId worker, const Header& header, bool fenced,
                                   Slice& slice) {
  slice = Slice();
  Seat& seat = seats_[worker];
  if (!fenced && header.row_id > last_list_) {
    return Refuse(worker, Status::DataError("a vector over partitions that were never leased"));
  }
  if (fenced || !IsCurrent(seat, header.step, header.row_id)) {
    CountLate(worker, header, fenced);
    return false;
  }
  const Result<size_t> index = SliceOf(cut_, header);
  if (!index.ok()) return Refuse(worker, index.status());
  const Result<Claim> claim = ClaimOf(header);
  if (!claim.ok()) return Refuse(worker, claim.status());
  if (Status fine = CheckTally(header.tally); !fine.ok()) return Refuse(worker, std::move(fine));
  if (header.version != header.step) {
    return Refuse(
        worker, Status::DataError(fmt::format("a vector for step {} from parameters of version {}",
                                              header.step, header.version)));
  }
  if (seat.arriving == nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(seat.arriving, Spare());
  }
  Vector& vector = *seat.arriving;
  if (vector.tally.value_or(header.tally) != header.tally || vector.seen[*index]) {
    return Refuse(worker,
                  Status::DataError(fmt::format(
                      "slice {} of a vector {}", *index,
                      vector.seen[*index] ? "came twice"
                                          : "declares another loss or weight than the first")));
  }
  vector.tally = header.tally;
  slice.vector = seat.arriving;
  slice.index = *index;
  slice.room = std::span(vector.values).subspan(cut_.begin(*index), cut_.size(*index));
  slice.claim = *claim;
  return true;
}

Status LeaseCollector::Finish(WorkerId worker, const Slice& slice) {
  Seat& seat = seats_[worker];
  if (slice.vector == nullptr || seat.arriving != slice.vector) return Status::Ok();
  Vector& vector = *slice.vector;
  vector.seen[slice.index] = true;
  ++vector.seen_count;
  // While it is in the cache.
  const Claim& claim = slice.claim;
  const Sketch sketch = SketchOf(slice.room, claim.key);
  if (!claim.HoldsFor(sketch)) return Refuse(worker, Belied(slice, sketch));
  if (log_ != nullptr) {
    vector.sketches.resize(cut_.count());
    vector.sketches[slice.index] =
        log_->Project(slice.room, cut_.begin(slice.index), claim.projection);
  }
  if (vector.seen_count < cut_.count()) hooks_.raise(LeaseSlice{worker, step_});
  return Status::Ok();
}

// Counted once per list, however many of its slices come.
void LeaseCollector::CountLate(WorkerId worker, const Header& header, bool fenced) {
  Seat& seat = seats_[worker];
  if (std::exchange(seat.late_list, header.row_id) == header.row_id) return;
  // Of an earlier life and about the open step, it would be taken for this life's own answer.
  if (header.step > step_ || (fenced && open_ && header.step == step_)) return;
  hooks_.raise(RowLate{worker, header.step});
}

Status LeaseCollector::CountWord(WorkerId worker) {
  hooks_.raise(WorkerProgress{worker, 0, Duration::zero()});
  return Status::Ok();
}

Status LeaseCollector::Refuse(WorkerId worker, Status why) {
  Seat& seat = seats_[worker];
  if (!seat.list) return why;
  seat.late_list = *seat.list;  // What else comes of it is not late, but refused.
  EndList(seat);
  hooks_.raise(RowRejected{worker, step_, 0, false, why});
  return why;
}

// --- What workers say ---

Status LeaseCollector::OnProgress(WorkerId worker, const wire::LeaseProgressT& progress) {
  Seat& seat = seats_[worker];
  if (!IsCurrent(seat, progress.step, progress.list)) return CountWord(worker);
  if (progress.done < seat.done || progress.done > seat.entries.size()) {
    return Status::DataError(fmt::format("{} entries of a list of {} done, after {}", progress.done,
                                         seat.entries.size(), seat.done));
  }
  seat.done = progress.done;
  hooks_.raise(LeaseProgress{worker, step_, progress.done,
                             Duration(static_cast<Duration::rep>(progress.compute_ns))});
  return Status::Ok();
}

Status LeaseCollector::OnReleased(WorkerId worker, const wire::ReleasedT& released) {
  Seat& seat = seats_[worker];
  if (!IsCurrent(seat, released.step, released.list)) return CountWord(worker);
  MOTLEY_RETURN_IF_ERROR(CheckPartitions(released.partitions, leases_.size()));
  if (seat.revoked.empty()) return Status::DataError("partitions given back that nobody wanted");
  const std::vector<PartitionId> asked = std::move(seat.revoked.front());
  seat.revoked.pop_front();
  for (const PartitionId p : released.partitions) {
    const auto unstarted =
        seat.entries.begin() + static_cast<std::ptrdiff_t>(std::max(seat.done, seat.covered));
    const auto at = std::find(unstarted, seat.entries.end(), p);
    if (at == seat.entries.end() || std::find(asked.begin(), asked.end(), p) == asked.end()) {
      return Status::DataError(
          fmt::format("partition {} given back, which was {}", p,
                      at == seat.entries.end() ? "not on the list, or computed" : "not asked for"));
    }
    seat.entries.erase(at);
    leases_[p] = Lease::kFree;
  }
  hooks_.raise(LeaseReleased{worker, step_, released.partitions});
  return Status::Ok();
}

Status LeaseCollector::CheckWhole(const Vector& vector) const {
  if (vector.seen_count == cut_.count()) return Status::Ok();
  return Status::DataError(fmt::format("{} of {} slices came", vector.seen_count, cut_.count()));
}

Status LeaseCollector::OnVectorEnd(WorkerId worker, const wire::VectorEndT& end) {
  Seat& seat = seats_[worker];
  if (!IsCurrent(seat, end.step, end.list)) return CountWord(worker);
  const size_t left = seat.entries.size() - seat.covered;
  if (end.entries == 0 || end.entries > left) {
    return Refuse(
        worker, Status::DataError(fmt::format("a vector over {} entries of a list that has {} left",
                                              end.entries, left)));
  }
  const std::shared_ptr<Vector> vector = std::exchange(seat.arriving, nullptr);
  const std::span<const PartitionId> covered =
      std::span(seat.entries).subspan(seat.covered, end.entries);
  Status fine = vector != nullptr ? CheckWhole(*vector)
                                  : Status::DataError("the end of a vector of which nothing came");
  if (fine.ok()) fine = CheckTally(*vector->tally, counts_, covered);
  if (!fine.ok()) return Refuse(worker, fine);
  Add(*vector);
  if (log_ != nullptr) log_->AddVector(worker, covered, vector->sketches, *vector->tally);
  for (const PartitionId p : covered) leases_[p] = Lease::kCovered;
  missing_ -= end.entries;
  seat.covered += end.entries;
  seat.done = std::max(seat.done, seat.covered);
  hooks_.covered(worker, covered);
  hooks_.raise(LeaseVector{worker, step_, end.entries});
  return Status::Ok();
}

// Vectors come in any order; each is read once.
void LeaseCollector::Add(const Vector& vector) {
  const AlignedVector& values = vector.values;
  tally_.Add(1, *vector.tally);
  parallel_.For(values.size(), kGrain, [&](size_t begin, size_t end) {
    const std::span<const float> part = std::span(values).subspan(begin, end - begin);
    const std::span<float> into = sum_.subspan(begin, end - begin);
    if (empty_) {
      std::copy(part.begin(), part.end(), into.begin());
    } else {
      AddWeighted(Field::kReal, 1.0, part, into);
    }
  });
  empty_ = false;
}

}  // namespace motley
