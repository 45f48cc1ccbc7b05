// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/queued_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coding/decode/part_sums.h"

namespace motley {

QueuedTrainer::QueuedTrainer(Loop& loop, Device& device, const PartitionStore& store,
                             BlockShape shape, BatchSchedule schedule)
    : loop_(loop), device_(device), store_(store), shape_(shape), schedule_(std::move(schedule)) {}

// Keeps one step's ranges, because it is asked for many times, chunk by chunk.
const std::vector<BatchSchedule::Range>& QueuedTrainer::Ranges(StepId step) const {
  if (ranges_ == nullptr || ranges_step_ != step) {
    ranges_ = schedule_.SharedRanges(step);
    ranges_step_ = step;
  }
  return *ranges_;
}

uint64_t QueuedTrainer::Samples(StepId step, std::span<const PartitionTerm> terms) const {
  const std::vector<BatchSchedule::Range>& ranges = Ranges(step);
  uint64_t samples = 0;
  for (const PartitionTerm& term : terms) {
    const auto end = static_cast<PartitionId>(std::min<size_t>(term.end, ranges.size()));
    if (term.begin < end) samples += BatchSchedule::Count(ranges, term.begin, end);
  }
  return samples;
}

Status QueuedTrainer::CheckSizes(const GradientWork& work) const {
  const size_t count = parameter_count();
  const size_t length =
      AnswerEnds(Field::kComplexPacked, VectorLength(count), work.ends, work.parts).back();
  const bool alike = std::all_of(
      work.terms.begin(), work.terms.end(),
      [&work](const PartitionTerm& term) { return term.other_parts.size() + 1 == work.parts; });
  if (work.parameters.size() == count && work.sum.size() == length && alike) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("{} parameters and a sum of {} in {} parts for a model of {}",
                  work.parameters.size(), work.sum.size(), work.parts, count));
}

Result<PartitionSlice> QueuedTrainer::FindSlice(StepId step, PartitionId partition) const {
  if (partition >= schedule_.partition_sizes().size()) {
    return Status::InvalidArgument(fmt::format("partition {} is not one of the job's {}", partition,
                                               schedule_.partition_sizes().size()));
  }
  const auto found = store_.find(partition);
  if (found == store_.end()) {
    return Status::NotFound(fmt::format("partition {} is not on this worker", partition));
  }
  const DataShape block = found->second->shape();
  if (block.features != shape_.features || block.classes != shape_.classes) {
    return Status::InvalidArgument(
        fmt::format("partition {} holds samples of another shape than the model's", partition));
  }
  const uint32_t size = schedule_.partition_sizes()[partition];
  if (shape_.features > 0 && block.rows != size) {
    return Status::InvalidArgument(fmt::format("partition {} has {} samples here but {} in the job",
                                               partition, block.rows, size));
  }
  return PartitionSlice{
      .partition = partition, .range = Ranges(step)[partition], .block = found->second};
}

Result<std::vector<MergedTerm>> QueuedTrainer::Collect(const GradientWork& work) const {
  MOTLEY_RETURN_IF_ERROR(CheckSizes(work));
  std::vector<MergedTerm> merged;
  for (const PartitionTerm& term : work.terms) {
    for (PartitionId partition = term.begin; partition < term.end; ++partition) {
      MOTLEY_ASSIGN_OR_RETURN(PartitionSlice slice, FindSlice(work.step, partition));
      if (slice.range.count == 0) continue;
      if (merged.empty() || !SameWeights(merged.back(), term)) {
        merged.push_back(
            {.coefficient = term.coefficient, .other_parts = term.other_parts, .ends = work.ends});
      }
      merged.back().slices.push_back(std::move(slice));
    }
  }
  return merged;
}

void QueuedTrainer::Submit(uint64_t samples, Device::Work work, std::shared_ptr<const Tally> tally,
                           Done done) {
  auto finish = [&loop = loop_, samples, tally = std::move(tally), start = loop_.Now(),
                 last_finish = last_finish_, done = std::move(done)](const Status& status) {
    // Excludes time in the queue behind earlier calls.
    const Time begin = std::max(start, *last_finish);
    *last_finish = loop.Now();
    if (!status.ok()) return done(status);
    done(Outcome{.samples = samples,
                 .compute = *last_finish - begin,
                 .tally = tally != nullptr ? *tally : Tally()});
  };
  device_.Submit(static_cast<double>(samples), std::move(work), std::move(finish));
}

void QueuedTrainer::Refuse(Done done, const Status& why) {
  loop_.Post([done = std::move(done), why] { done(why); });
}

}  // namespace motley
