// SPDX-License-Identifier: Apache-2.0
#include "training/batch_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "base/assert.h"
#include "base/random.h"

namespace motley {
namespace {

using Wide = unsigned __int128;

// How many samples of a partition have a key below `threshold` / 2^64, where sample r of one of
// `size` has the key (r + offset / 2^32) / size: the least r with r >= threshold * size - offset.
// Partitions of one size mostly follow each other.
class CountBelow {
 public:
  explicit CountBelow(Wide threshold) : threshold_(threshold) {}

  uint64_t operator()(uint32_t size, uint32_t offset) {
    if (size != size_) {
      const Wide reach = threshold_ * size;  // At most 2^64 * 2^32.
      size_ = size;
      whole_ = static_cast<uint64_t>(reach >> 64);
      rest_ = static_cast<uint64_t>(reach);
    }
    return whole_ + (rest_ > uint64_t{offset} << 32 ? 1 : 0);
  }

 private:
  const Wide threshold_;
  uint32_t size_ = 0;
  uint64_t whole_ = 0, rest_ = 0;  // Of threshold * size.
};

// What was asked for last on this thread. All that take part in a job ask for the same: the parts
// of a node, and dozens of nodes in a simulated cluster.
struct Recent {
  uint64_t seed = 0;
  uint32_t batch = 0;
  std::shared_ptr<const std::vector<uint32_t>> sizes;
  std::optional<uint64_t> epoch;
  std::vector<uint32_t> offsets;    // Of this epoch.
  std::optional<uint64_t> reached;  // So many samples of it the step's batch ends after,
  std::vector<uint32_t> ends;       // at these ranks: the next one begins there.
  std::vector<uint32_t> begins;     // Room.
  std::optional<StepId> step;
  std::shared_ptr<std::vector<BatchSchedule::Range>> ranges;  // Of this step,
  std::shared_ptr<std::vector<BatchSchedule::Range>> former;  // and of the one before.

  bool Knows(uint64_t of_seed, uint32_t of_batch,
             const std::shared_ptr<const std::vector<uint32_t>>& of_sizes) const {
    return seed == of_seed && batch == of_batch && sizes != nullptr &&
           (sizes == of_sizes || *sizes == *of_sizes);
  }
};

thread_local Recent recent;

}  // namespace

BatchSchedule::BatchSchedule(uint64_t seed, std::vector<uint32_t> partition_sizes, uint32_t batch)
    : seed_(seed), batch_(batch) {
  if (recent.sizes != nullptr && *recent.sizes == partition_sizes) {
    sizes_ = recent.sizes;
  } else {
    sizes_ = std::make_shared<const std::vector<uint32_t>>(std::move(partition_sizes));
    recent = {.seed = seed_, .batch = batch_, .sizes = sizes_};
  }
  for (const uint32_t size : *sizes_) samples_ += size;
  MOTLEY_ASSERT(batch_ > 0 && samples_ > 0);
}

uint64_t BatchSchedule::steps_per_epoch() const {
  return samples_ / batch_ + (samples_ % batch_ != 0 ? 1 : 0);
}

uint32_t BatchSchedule::batch_size(StepId step) const {
  const uint64_t taken = step % steps_per_epoch() * batch_;
  return static_cast<uint32_t>(std::min<uint64_t>(batch_, samples_ - taken));
}

std::shared_ptr<const std::vector<BatchSchedule::Range>> BatchSchedule::SharedRanges(
    StepId step) const {
  if (!recent.Knows(seed_, batch_, sizes_)) {
    recent = {.seed = seed_, .batch = batch_, .sizes = sizes_};
  }
  if (recent.step == step) return recent.ranges;
  if (recent.epoch != epoch(step)) {
    recent.offsets = Offsets(epoch(step));
    recent.epoch = epoch(step);
    recent.reached.reset();
  }
  const uint64_t taken = step % steps_per_epoch() * batch_;
  const uint64_t end = taken + batch_size(step);
  if (recent.reached != taken) FindBegins(recent.offsets, taken, recent.ends);
  std::swap(recent.begins, recent.ends);
  FindBegins(recent.offsets, end, recent.ends);
  std::swap(recent.ranges, recent.former);
  if (recent.ranges == nullptr || recent.ranges.use_count() > 1) {  // Somebody has it still.
    recent.ranges = std::make_shared<std::vector<Range>>(sizes_->size());
  }
  const uint32_t* begins = recent.begins.data();
  const uint32_t* ends = recent.ends.data();
  uint32_t before = 0;
  for (Range& range : *recent.ranges) {
    const uint32_t begin = *begins++;
    const uint32_t count = *ends++ - begin;
    range = {begin, count, before};
    before += count;
  }
  recent.reached = end;
  recent.step = step;
  return recent.ranges;
}

std::vector<uint32_t> BatchSchedule::Offsets(uint64_t epoch) const {
  std::vector<uint32_t> offsets(sizes_->size());
  for (size_t p = 0; p < offsets.size(); ++p) {
    offsets[p] = Random(seed_, Stream::kShuffle, epoch, p).Next32();
  }
  return offsets;
}

void BatchSchedule::FindBegins(std::span<const uint32_t> offsets, uint64_t taken,
                               std::vector<uint32_t>& begins) const {
  const std::vector<uint32_t>& sizes = *sizes_;
  begins = sizes;
  if (taken == samples_) return;
  const auto total = [&](Wide threshold) {
    CountBelow count(threshold);
    uint64_t sum = 0;
    for (size_t p = 0; p < sizes.size(); ++p) {
      begins[p] = static_cast<uint32_t>(count(sizes[p], offsets[p]));
      sum += begins[p];
    }
    return sum;
  };
  // Partition p counts within one of threshold * size, so k samples around the even pace bracket
  // the threshold: total(low) <= taken < total(high).
  const uint64_t k = sizes.size();
  const Wide one = Wide{1} << 64;
  Wide low = taken < k ? 0 : (Wide{taken - k} << 64) / samples_;
  Wide high = taken + k >= samples_ ? one : (Wide{taken + k} << 64) / samples_ + 1;
  // Totals grow evenly, so the next guess is as far on as samples are missing. Where that leads out
  // of what is left, and now and then lest all be bad ones, it is the middle of it.
  const Wide per_sample = one / samples_;
  Wide guess = std::clamp<Wide>((Wide{taken} << 64) / samples_, low + 1, high - 1);
  for (int guesses = 1; high - low > 1; ++guesses) {
    const uint64_t sum = total(guess);
    if (sum == taken) return;
    (sum < taken ? low : high) = guess;
    const Wide step = per_sample * (sum < taken ? taken - sum : sum - taken);
    const bool inside = step < (sum < taken ? high - guess : guess - low);
    if (inside && guesses % 16 != 0) {
      guess = sum < taken ? guess + step : guess - step;
    } else {
      guess = low + (high - low) / 2;
    }
  }
  uint64_t rest = taken;
  CountBelow count(low);
  for (size_t p = 0; p < begins.size(); ++p) {
    begins[p] = static_cast<uint32_t>(count(sizes[p], offsets[p]));
    rest -= begins[p];
  }
  // Equal keys: the partition with the smaller number comes first.
  CountBelow next(low + 1);
  for (size_t p = 0; p < begins.size() && rest > 0; ++p) {
    if (next(sizes[p], offsets[p]) == begins[p]) continue;
    ++begins[p];
    --rest;
  }
  MOTLEY_ASSERT(rest == 0);
}

std::vector<uint32_t> BatchSchedule::Order(uint64_t epoch, PartitionId partition) const {
  MOTLEY_ASSERT(partition < sizes_->size());
  std::vector<uint32_t> order((*sizes_)[partition]);
  std::iota(order.begin(), order.end(), 0u);
  Random random(seed_, Stream::kShuffle, epoch, partition);
  random.Next32();  // The partition's offset: see Offsets.
  random.Shuffle(std::span<uint32_t>(order));
  return order;
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
