// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/batch_schedule.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/thread_owned.h"

namespace motley {

// The last ranges of this thread. All users in a job ask for the same ones: the parts of a node,
// and dozens of nodes in a simulated cluster.
struct BatchSchedule::Recent {
  uint64_t seed = 0;
  uint32_t batch = 0;
  std::shared_ptr<const Layout> layout;
  std::optional<StepId> step;
  std::shared_ptr<std::vector<Range>> ranges;  // Ranges of this step.
  std::shared_ptr<std::vector<Range>> former;  // Ranges of the step before.

  bool Knows(const BatchSchedule& schedule) const {
    return seed == schedule.seed_ && batch == schedule.batch_ && layout != nullptr &&
           (layout == schedule.layout_ || layout->sizes == schedule.layout_->sizes);
  }
};

BatchSchedule::Recent& BatchSchedule::recent() { return ThreadOwned<Recent>(); }

BatchSchedule::BatchSchedule(uint64_t seed, std::vector<uint32_t> partition_sizes, uint32_t batch,
                             uint32_t turns)
    : seed_(seed), batch_(batch), turns_(turns) {
  Recent& last = recent();
  if (last.layout != nullptr && last.layout->sizes == partition_sizes) {
    layout_ = last.layout;
  } else {
    auto layout = std::make_shared<Layout>();
    layout->first.reserve(partition_sizes.size() + 1);
    layout->first.push_back(0);
    for (const uint32_t size : partition_sizes) {
      layout->first.push_back(layout->first.back() + size);
    }
    layout->sizes = std::move(partition_sizes);
    layout_ = std::move(layout);
    last = {.seed = seed_, .batch = batch_, .layout = layout_};
  }
  MOTLEY_ASSERT(batch_ > 0 && turns_ > 0 && samples() > 0 && samples() <= uint64_t{1} << 32);
}

uint32_t BatchSchedule::batch_size(StepId step) const {
  const uint64_t taken = BatchOf(step) % batches_per_epoch() * batch_;
  return static_cast<uint32_t>(std::min<uint64_t>(batch_, samples() - taken));
}

uint64_t BatchSchedule::steps_per_epoch() const {
  const uint64_t rest = samples() % batch_ * turns_;
  return samples() / batch_ * turns_ + rest / batch_ + (rest % batch_ != 0 ? 1 : 0);
}

uint32_t BatchSchedule::turns(StepId step) const {
  const uint64_t first = step % steps_per_epoch() / turns_ * turns_;
  return static_cast<uint32_t>(std::min<uint64_t>(turns_, steps_per_epoch() - first));
}

std::shared_ptr<const std::vector<BatchSchedule::Range>> BatchSchedule::SharedRanges(
    StepId step) const {
  Recent& last = recent();
  if (!last.Knows(*this)) last = {.seed = seed_, .batch = batch_, .layout = layout_};
  if (last.step == BatchOf(step)) return last.ranges;
  std::swap(last.ranges, last.former);
  if (last.ranges == nullptr || last.ranges.use_count() > 1) {  // Another user still holds it.
    last.ranges = std::make_shared<std::vector<Range>>(layout_->sizes.size());
  }
  const StepBatch batch = At(step);
  const uint64_t* end_of_partition = layout_->first.data() + 1;
  uint32_t begin = 0;
  for (Range& range : *last.ranges) {
    const uint32_t end = batch.Before(*end_of_partition++);
    range = {begin, end - begin};
    begin = end;
  }
  last.step = BatchOf(step);
  return last.ranges;
}

std::vector<uint32_t> BatchSchedule::Rows(StepId step) const {
  const StepBatch batch = At(step);
  std::vector<uint32_t> rows;
  rows.reserve(batch.size());
  batch.AppendRows(0, batch.size(), 0, rows);
  return rows;
}

std::vector<uint32_t> PartitionSizes(uint64_t samples, uint32_t partitions) {
  MOTLEY_ASSERT(partitions > 0);
  const uint64_t size = samples / partitions;
  MOTLEY_ASSERT(size < std::numeric_limits<uint32_t>::max());
  std::vector<uint32_t> sizes(partitions, static_cast<uint32_t>(size));
  for (uint64_t p = 0; p < samples % partitions; ++p) ++sizes[p];
  return sizes;
}

}  // namespace motley
