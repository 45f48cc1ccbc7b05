// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/row_task.h"

#include <algorithm>
#include <utility>

#include "training/trainers/term_work.h"

namespace motley {
RowTask::RowTask(Loop& loop, std::shared_ptr<Workshop> shop, Row row, ParameterCopy parameters,
                 std::shared_ptr<std::vector<float>> sum, std::vector<PartitionTerm> room)
    : loop_(loop),
      shop_(std::move(shop)),
      row_(std::move(row)),
      parameters_(std::move(parameters)),
      sum_(std::move(sum)),
      pieces_(std::move(room)) {
  pieces_.clear();
}

void RowTask::Run(Hooks hooks) {
  hooks_ = std::move(hooks);
  std::fill(sum_->begin(), sum_->end(), 0.0f);
  Cut();
  if (chunks_ > 0) return Next();
  loop_.Post([self = shared_from_this()] { self->Finish(Status::Ok()); });
}

// Whole partitions, in order, until a chunk has enough samples; those without any are left out.
void RowTask::Cut() {
  const auto shared = shop_->schedule.SharedRanges(row_.step);
  const std::span<const BatchSchedule::Range> ranges = *shared;
  uint64_t total = 0;
  for (const PartitionTerm& term : row_.terms) {
    total += BatchSchedule::Count(ranges, term.begin, term.end);
  }
  const uint64_t wanted = shop_->trainer->cuts_work() ? total : RowPieceSamples(total);
  uint64_t in_chunk = wanted;  // The first partition starts a chunk.
  for (const PartitionTerm& term : row_.terms) {
    bool alike = !pieces_.empty() && SameWeights(pieces_.back(), term);  // The last piece.
    for (PartitionId p = term.begin; p < term.end;) {
      if (ranges[p].count == 0) {
        ++p;
        continue;
      }
      const bool begins = in_chunk >= wanted;
      if (begins) {
        if (!pieces_.empty()) chunk_ends_[chunks_++] = pieces_.size();
        in_chunk = 0;
      }
      const PartitionId from = p;
      do {
        in_chunk += ranges[p++].count;
      } while (p < term.end && ranges[p].count > 0 && in_chunk < wanted);
      if (!begins && alike && pieces_.back().end == from) {
        pieces_.back().end = p;
      } else {
        pieces_.push_back({from, p, term.coefficient, term.other_parts});
      }
      alike = true;
    }
  }
  if (!pieces_.empty()) chunk_ends_[chunks_++] = pieces_.size();
}

void RowTask::Next() {
  GradientWork work;
  work.step = row_.step;
  work.version = row_.version;
  work.parameters = *parameters_;
  const size_t begin = next_chunk_ == 0 ? 0 : chunk_ends_[next_chunk_ - 1];
  work.terms = std::span(pieces_).subspan(begin, chunk_ends_[next_chunk_] - begin);
  work.sum = *sum_;
  work.parts = row_.parts;
  work.progress = [self = shared_from_this()](uint64_t samples) {
    self->in_chunk_ = samples;
    if (self->hooks_.progress) self->hooks_.progress();
  };
  if (next_chunk_ + 1 == chunks_ && hooks_.final) {
    work.final = [self = shared_from_this()](size_t first, size_t last, const Tally& tally) {
      self->OnFinal(first, last, tally);
    };
  }
  // The callback keeps all that the device reads and writes.
  auto self = shared_from_this();
  std::shared_ptr<std::atomic<bool>> cancel(self, &cancel_);
  shop_->trainer->Accumulate(std::move(work), std::move(cancel),
                             [self = std::move(self)](Result<Trainer::Outcome> outcome) {
                               self->OnChunk(std::move(outcome));
                             });
}

// Of the last chunk.
void RowTask::OnFinal(size_t begin, size_t end, const Tally& of_chunk) {
  if (cancel_ || !hooks_.final) return;
  Tally tally = tally_;
  tally.Add(1, of_chunk);
  if (end == shop_->trainer->parameter_count()) end = sum_->size();  // The padding is 0.
  hooks_.final(begin, end, tally);
}

void RowTask::OnChunk(Result<Trainer::Outcome> outcome) {
  in_chunk_ = 0;
  if (outcome.ok()) {
    samples_ += outcome->samples;
    compute_ += outcome->compute;
    tally_.Add(1, outcome->tally);
  }
  if (cancel_) return Finish(Status::Cancelled("the row is not needed any more"));
  if (!outcome.ok()) return Finish(outcome.status());
  if (++next_chunk_ == chunks_) return Finish(Status::Ok());
  if (hooks_.progress) hooks_.progress();
  Next();
}

void RowTask::Finish(Status status) {
  const Hooks hooks = std::exchange(hooks_, Hooks());
  if (cancel_) status = Status::Cancelled("the row is not needed any more");
  if (hooks.done) hooks.done(std::move(status));
}

void RowTask::Cancel() { cancel_ = true; }

void RowTask::Abandon() {
  cancel_ = true;
  hooks_ = Hooks();
}

}  // namespace motley
