// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_task.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

// A stopped row wastes at most a chunk; a chunk is worth its cost of starting.
constexpr uint64_t kChunksPerRow = 6;
constexpr uint64_t kMinChunkSamples = 32;

}  // namespace

RowTask::RowTask(Loop& loop, std::shared_ptr<Workshop> shop, Row row, ParameterCopy parameters,
                 std::shared_ptr<std::vector<float>> sum)
    : loop_(loop),
      shop_(std::move(shop)),
      row_(std::move(row)),
      parameters_(std::move(parameters)),
      sum_(std::move(sum)) {}

void RowTask::Run(Hooks hooks) {
  hooks_ = std::move(hooks);
  std::fill(sum_->begin(), sum_->end(), 0.0f);
  Cut();
  if (!chunks_.empty()) return Next();
  loop_.Post([self = shared_from_this()] { self->Finish(Status::Ok()); });
}

// Whole partitions, in order, until a chunk has enough samples; those without any are left out.
void RowTask::Cut() {
  const std::vector<BatchSchedule::Range> ranges = shop_->schedule.Ranges(row_.step);
  uint64_t total = 0;
  for (const PartitionTerm& term : row_.terms) {
    for (PartitionId p = term.begin; p < term.end; ++p) total += ranges[p].count;
  }
  const uint64_t wanted = std::max(kMinChunkSamples, (total + kChunksPerRow - 1) / kChunksPerRow);
  uint64_t in_chunk = wanted;  // The first partition starts a chunk.
  for (const PartitionTerm& term : row_.terms) {
    for (PartitionId p = term.begin; p < term.end; ++p) {
      if (ranges[p].count == 0) continue;
      if (in_chunk >= wanted) {
        chunks_.emplace_back();
        in_chunk = 0;
      }
      in_chunk += ranges[p].count;
      std::vector<PartitionTerm>& chunk = chunks_.back();
      if (!chunk.empty() && chunk.back().end == p && chunk.back().coefficient == term.coefficient) {
        ++chunk.back().end;
      } else {
        chunk.push_back({p, p + 1, term.coefficient});
      }
    }
  }
}

void RowTask::Next() {
  GradientWork work;
  work.step = row_.step;
  work.version = row_.version;
  work.parameters = *parameters_;
  work.terms = chunks_[next_chunk_];
  work.sum = *sum_;
  work.progress = [self = shared_from_this()](uint64_t samples) {
    self->in_chunk_ = samples;
    if (self->hooks_.progress) self->hooks_.progress();
  };
  // The callback keeps all that the device reads and writes.
  shop_->trainer->Accumulate(work, cancel_,
                             [self = shared_from_this()](Result<Trainer::Outcome> outcome) {
                               self->OnChunk(std::move(outcome));
                             });
}

void RowTask::OnChunk(Result<Trainer::Outcome> outcome) {
  in_chunk_ = 0;
  if (outcome.ok()) {
    samples_ += outcome->samples;
    compute_ += outcome->compute;
  }
  if (*cancel_) return Finish(Status::Cancelled("the row is not needed any more"));
  if (!outcome.ok()) return Finish(outcome.status());
  if (++next_chunk_ == chunks_.size()) return Finish(Status::Ok());
  if (hooks_.progress) hooks_.progress();
  Next();
}

void RowTask::Finish(Status status) {
  const Hooks hooks = std::exchange(hooks_, Hooks());
  if (*cancel_) status = Status::Cancelled("the row is not needed any more");
  if (hooks.done) hooks.done(std::move(status));
}

void RowTask::Cancel() { *cancel_ = true; }

void RowTask::Abandon() {
  *cancel_ = true;
  hooks_ = Hooks();
}

}  // namespace motley
