// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/step_batch.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "base/random.h"

namespace motley {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;  // Distance between the keys of adjacent runs.

// The finalizer of SplitMix64 (Steele et al. 2014): spreads similar numbers over all bits.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A keyed permutation of 0..size-1, value by value: a Feistel network on as many bits as size - 1
// has. It is repeated until the result is below `size`, which takes less than two rounds on
// average. On so few bits some values would be more likely than others. A random rotation at the
// end makes all equally likely.
uint64_t Permuted(uint64_t value, uint64_t size, uint64_t key) {
  if (size == 1) return 0;
  const int bits = std::bit_width(size - 1);
  const int low_bits = bits / 2;
  const uint64_t low_mask = (uint64_t{1} << low_bits) - 1;
  const uint64_t high_mask = (uint64_t{1} << (bits - low_bits)) - 1;
  do {
    uint64_t high = value >> low_bits;
    uint64_t low = value & low_mask;
    for (uint64_t round = 0; round < 4; round += 2) {
      high ^= Mix(key + (round << 32) + low) & high_mask;
      low ^= Mix(key + ((round + 1) << 32) + high) & low_mask;
    }
    value = high << low_bits | low;
  } while (value >= size);
  value += (key >> 32) * size >> 32;
  return value < size ? value : value - size;
}

// A name has 40 bits for the step (kMostSteps), then 12 for the turn and 12 for their number.
constexpr int kStepBits = 40;
constexpr int kTurnBits = 12;

}  // namespace

StepId TurnOf(StepId step, uint32_t turn, uint32_t turns) {
  MOTLEY_ASSERT(turn < turns && turns <= kMostTurns);
  return step | uint64_t{turn} << kStepBits | uint64_t{turns} << (kStepBits + kTurnBits);
}

StepId WholeStep(StepId step) { return step & ((StepId{1} << kStepBits) - 1); }

StepBatch::StepBatch(uint64_t seed, uint64_t samples, uint32_t batch, StepId step)
    : samples_(samples), runs_(static_cast<uint32_t>(std::min<uint64_t>(batch, samples))) {
  MOTLEY_ASSERT(batch > 0 && samples > 0 && samples <= uint64_t{1} << 32);
  if (const auto turns = static_cast<uint32_t>(step >> (kStepBits + kTurnBits)); turns > 0) {
    part_ = static_cast<uint32_t>(step >> kStepBits) & kMostTurns;
    parts_ = turns;
    step = WholeStep(step);
  }
  const uint64_t steps = StepsPerEpoch(samples, runs_);
  shorter_ = samples / runs_;
  longer_ = static_cast<uint32_t>(samples % runs_);
  turn_ = step % steps;
  all_runs_ = turn_ < shorter_;
  Random random(seed, Stream::kShuffle, step / steps);
  epoch_key_ = random.Next64();
  // Run i begins at (i * samples + cut) / runs, so every cut is equally likely.
  const uint64_t cut = random.Below(samples);
  shift_ = cut / runs_;
  phase_ = static_cast<uint32_t>(cut % runs_);
  const Run last = RunAt(runs_ - 1);
  const uint64_t place = TakesPart(last) ? PlaceOf(last) : 0;
  around_ = place + shift_ >= samples;
  if (around_) front_ = place + shift_ - samples;
}

uint64_t StepBatch::Sample(uint32_t rank) const {
  rank = rank * parts_ + part_;
  if (!around_) return PlaceOf(RunAt(IndexOf(rank))) + shift_;
  return rank == 0 ? front_ : PlaceOf(RunAt(IndexOf(rank - 1))) + shift_;
}

uint32_t StepBatch::Before(uint64_t position) const {
  if (position >= samples_) return size();
  const uint32_t front = around_ && front_ < position ? 1 : 0;
  return OfTurn(front + (position > shift_ ? BeforePlace(position - shift_) : 0));
}

void StepBatch::AppendRows(uint32_t begin, uint32_t count, uint64_t first,
                           std::vector<uint32_t>& rows) const {
  for (uint32_t rank = begin; rank < begin + count; ++rank) {
    rows.push_back(static_cast<uint32_t>(Sample(rank) - first));
  }
}

uint32_t StepBatch::BeforePlace(uint64_t place) const {
  // The run that `place` is in.
  const Run run = RunAt(((place + 1) * runs_ - phase_ - 1) / samples_);
  // floor((i * longer + phase) / runs) of the first i runs are longer.
  const uint64_t before = all_runs_ ? run.index : (run.index * longer_ + phase_) / runs_;
  const bool after_sample = place > run.begin && TakesPart(run) && PlaceOf(run) < place;
  return static_cast<uint32_t>(before + (after_sample ? 1 : 0));
}

uint64_t StepBatch::IndexOf(uint32_t rank) const {
  if (all_runs_) return rank;
  const uint64_t reach = (uint64_t{rank} + 1) * runs_ - phase_;
  return (reach + longer_ - 1) / longer_ - 1;
}

StepBatch::Run StepBatch::RunAt(uint64_t index) const {
  const uint64_t reach = index * samples_ + phase_;
  const uint64_t begin = reach / runs_;
  const bool longer = reach - begin * runs_ + longer_ >= runs_;
  return {index, begin, shorter_ + (longer ? 1 : 0)};
}

uint64_t StepBatch::PlaceOf(const Run& run) const {
  return run.begin + Permuted(turn_, run.size, Mix(epoch_key_ + (run.index + 1) * kGolden));
}

}  // namespace motley
