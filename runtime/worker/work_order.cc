// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/work_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "scheduler/step/pieces.h"
#include "training/trainers/term_work.h"

namespace motley {
WorkOrder::WorkOrder(Loop& loop, std::shared_ptr<Workshop> shop, What what, Room room)
    : loop_(loop),
      shop_(std::move(shop)),
      what_(std::move(what)),
      ranges_(shop_->schedule.SharedRanges(what_.step)),
      room_(std::move(room)) {
  ListEntries();
  state_.due = !what_.revocable;
  state_.may_send = !what_.waits;
}

void WorkOrder::SetTerms(std::vector<PartitionTerm> terms) {
  MOTLEY_ASSERT(started_ == 0);
  what_.terms = std::move(terms);
  ListEntries();
}

void WorkOrder::ListEntries() {
  room_.entries.clear();
  for (uint32_t at = 0; at < what_.terms.size(); ++at) {
    const PartitionTerm& term = what_.terms[at];
    for (PartitionId p = term.begin; p < term.end; ++p) room_.entries.push_back({p, at});
  }
}

Status WorkOrder::Extend(std::span<const PartitionTerm> terms) {
  size_t total = room_.entries.size();
  for (const PartitionTerm& term : terms) total += term.end - term.begin;
  if (total > ranges_->size()) {
    return Status::DataError(
        fmt::format("a list of {} partitions, of which there are {}", total, ranges_->size()));
  }
  // All terms of a list weigh the same, so one serves all entries, however often the list grows.
  if (what_.terms.empty() && !terms.empty()) what_.terms.push_back(terms.front());
  for (const PartitionTerm& term : terms) {
    for (PartitionId p = term.begin; p < term.end; ++p) room_.entries.push_back({p, 0});
  }
  return Status::Ok();
}

std::vector<PartitionId> WorkOrder::Release(const std::vector<PartitionId>& asked) {
  std::vector<bool> wanted(ranges_->size(), false);
  for (const PartitionId p : asked) wanted[p] = true;
  std::vector<Entry>& entries = room_.entries;
  const auto kept =
      std::stable_partition(entries.begin() + static_cast<std::ptrdiff_t>(started_), entries.end(),
                            [&](const Entry& entry) { return !wanted[entry.partition]; });
  std::vector<PartitionId> released;
  for (auto entry = kept; entry != entries.end(); ++entry) released.push_back(entry->partition);
  entries.erase(kept, entries.end());
  return released;
}

// Chunks of a row must not end where its data happened to arrive: sums are equal to the bit.
bool WorkOrder::Ready() const {
  if (finished()) return false;
  if (what_.revocable) return shop_->store.contains(room_.entries[done_].partition);
  return done_ > 0 || std::all_of(what_.terms.begin(), what_.terms.end(), [&](const auto& term) {
           auto held = shop_->store.lower_bound(term.begin);
           for (PartitionId p = term.begin; p < term.end; ++p, ++held) {
             if (held == shop_->store.end() || held->first != p) return false;
           }
           return true;
         });
}

// A list may grow and shrink, so its chunks follow the samples that are left.
uint64_t WorkOrder::ChunkSamples() const {
  // A trainer that divides chunks among several devices needs large ones.
  const bool cuts = shop_->trainer->cuts_work();
  uint64_t samples = 0;
  if (!what_.revocable) {
    for (const PartitionTerm& term : what_.terms) {
      samples += BatchSchedule::Count(*ranges_, term.begin, term.end);
    }
    return cuts ? samples : RowPieceSamples(samples);
  }
  for (size_t i = done_; i < room_.entries.size(); ++i) {
    samples += (*ranges_)[room_.entries[i].partition].count;
  }
  const uint64_t piece = LeasePieceSamples(samples);
  if (!cuts) return piece;
  const double least = shop_->speed * ToSeconds(kLeastCallTime);
  return std::max(2 * piece, static_cast<uint64_t>(std::min(least, double(samples))));
}

// Fills the chunk, and returns its end. Partitions without samples go with those before them.
size_t WorkOrder::Cut() {
  std::vector<PartitionTerm>& chunk = room_.chunk;
  chunk.clear();
  const uint64_t wanted = ChunkSamples();
  uint64_t samples = 0;
  size_t end = done_;
  for (; end < room_.entries.size(); ++end) {
    const auto [p, term] = room_.entries[end];
    const uint32_t count = (*ranges_)[p].count;
    if (count > 0 && samples >= wanted) break;
    if (what_.revocable && !shop_->store.contains(p)) break;
    samples += count;
    if (count == 0) continue;
    const PartitionTerm& weights = what_.terms[term];
    if (!chunk.empty() && chunk.back().end == p && SameWeights(chunk.back(), weights)) {
      ++chunk.back().end;
    } else {
      chunk.push_back({p, p + 1, weights.coefficient, weights.other_parts});
    }
  }
  return end;
}

void WorkOrder::Compute(SharedVector sum, Hooks hooks) {
  sum_ = std::move(sum);
  hooks_ = std::move(hooks);
  started_ = Cut();
  const bool last = state_.due && started_ == room_.entries.size();
  if (room_.chunk.empty() &&
      !(last && state_.on_device)) {  // No partition has a sample in this batch.
    loop_.Post([self = shared_from_this()] { self->OnChunk(Trainer::Outcome()); });
    return;
  }
  Accumulate(last);
}

void WorkOrder::Fetch(Hooks hooks) {
  hooks_ = std::move(hooks);
  room_.chunk.clear();
  Accumulate(/*last=*/true);
}

void WorkOrder::GoAhead(std::function<void(const Status&)> failed) const {
  shop_->trainer->GoAhead(
      what_.step + 1, what_.terms,
      [keep = shop_, failed = std::move(failed)](const Result<Trainer::Outcome>& outcome) {
        if (!outcome.ok() && outcome.code() != StatusCode::kCancelled) failed(outcome.status());
      });
}

void WorkOrder::Accumulate(bool last) {
  GradientWork work;
  work.step = what_.step;
  work.version = version_.number;
  work.parameters = *version_.values;
  work.terms = room_.chunk;
  work.sum = *sum_;
  work.parts = what_.parts;
  work.ends = shop_->ends;
  work.ahead = what_.ahead;
  work.more = !what_.cover_known && shop_->trainer->keeps_sums() && !last;
  work.continues = std::exchange(state_.on_device, work.more);
  work.progress = [self = shared_from_this()](uint64_t samples) {
    self->state_.in_chunk = samples;
    if (self->hooks_.progress) self->hooks_.progress();
  };
  if (last && hooks_.final) {
    work.final = [self = shared_from_this()](size_t begin, size_t end, const Tally& tally) {
      self->OnFinal(begin, end, tally);
    };
  }
  // The callback keeps all that the device reads and writes alive.
  auto self = shared_from_this();
  std::shared_ptr<std::atomic<bool>> cancel(self, &cancel_);
  shop_->trainer->Accumulate(std::move(work), std::move(cancel),
                             [self = std::move(self)](const Result<Trainer::Outcome>& outcome) {
                               self->OnChunk(outcome);
                             });
}

void WorkOrder::OnFinal(size_t begin, size_t end, const Tally& of_chunk) {
  if (cancel_ || !hooks_.final) return;
  Tally tally = state_.tally;
  tally.Add(1, of_chunk);
  if (end == shop_->trainer->parameter_count()) end = sum_->size();  // The padding is 0.
  hooks_.final(begin, end, tally);
}

void WorkOrder::OnChunk(const Result<Trainer::Outcome>& outcome) {
  state_.in_chunk = 0;
  if (outcome.ok()) {
    state_.samples += outcome->samples;
    state_.compute += outcome->compute;
    const double seconds = ToSeconds(outcome->compute);
    if (seconds > 0) shop_->speed = static_cast<double>(outcome->samples) / seconds;
  }
  Status status = outcome.ok() ? Status::Ok() : outcome.status();
  if (cancel_) status = Status::Cancelled("the order is not needed any more");
  if (status.ok()) {
    done_ = started_;
    state_.tally.Add(1, outcome->tally);
  } else {
    started_ = done_;
  }
  const Hooks hooks = std::exchange(hooks_, Hooks());
  if (hooks.done) hooks.done(std::move(status));
}

void WorkOrder::Abandon() {
  cancel_ = true;
  hooks_ = Hooks();
}

}  // namespace motley
