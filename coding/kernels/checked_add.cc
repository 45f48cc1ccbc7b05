// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/kernels/checked_add.h"

#include <algorithm>
#include <vector>

#include "coding/kernels/weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/kernels/checked_add.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.
#include <hwy/highway.h>

#include "coding/kernels/add_block-inl.h"
#include "coding/kernels/look_ahead-inl.h"

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

// Fetches the first blocks, since nothing ran ahead of them.
void FetchFirst(const float* values, size_t count, float* const* sums, size_t sum_count) {
  for (size_t t = 0; t < std::min(count, 2 * kCheckedBlock); t += kLineFloats) Fetch(values, t);
  for (size_t r = 0; r < sum_count; ++r) {
    for (size_t t = 0; t < std::min(count, kCheckedBlock); t += kLineFloats) Fetch(sums[r], t);
  }
}

// Adds a whole block to one sum while another block follows. Meanwhile it fetches the next block of
// the sum if `fetch`, and, unless kNot, checks the next block (which begins with sign `first`) and
// fetches the one after. All this happens line by line, so that memory never waits for arithmetic.
// Returns what Checked would, to the bit.
template <bool kOverwrite, bool kPacked, Look kLook>
Sketch AddAndLookAhead(const float* weight, const float* values, float* sum, SignKey key,
                       size_t first, [[maybe_unused]] bool fetch) {
#if HWY_TARGET == HWY_SCALAR
  if (kPacked) {
    AddPairs<kOverwrite>(weight, values, kCheckedBlock, sum);
  } else {
    AddReals<kOverwrite>(weight[0], values, kCheckedBlock, sum);
  }
  return Checked<kLook>(values + kCheckedBlock, kCheckedBlock, key, first);
#else
  const Vec re = hn::Set(Tag(), weight[0]);
  const Vec im = ImaginaryFactor(kPacked ? weight[1] : 0);
  const float* const next = values + kCheckedBlock;
  const BlockLook<kLook> look(next, key, first);
  WideVec low_squares = hn::Zero(Wide()), high_squares = hn::Zero(Wide());
  WideVec low_sum = hn::Zero(Wide()), high_sum = hn::Zero(Wide());
  for (size_t line = 0; line < kCheckedBlock; line += kLineFloats) {
    if (fetch) Fetch(sum, kCheckedBlock + line);
    if (fetch && kLook != Look::kNot) Fetch(next, kCheckedBlock + line);
    for (size_t t = line; t < line + kLineFloats; t += hn::Lanes(Tag())) {
      look.Add(t, low_squares, high_squares, low_sum, high_sum);
      if (kPacked) {
        AddPairVector<kOverwrite>(re, im, values + t, sum + t);
      } else {
        AddRealVector<kOverwrite>(re, values + t, sum + t);
      }
    }
  }
  if (kLook == Look::kNot) return {};
  return SketchOfSums(low_squares, high_squares, low_sum, high_sum);
#endif
}

// energy (+)= |pair|^2.
template <bool kOverwrite>
void AddEnergy(const float* values, size_t count, float* energy, [[maybe_unused]] bool fetch) {
  size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  for (; t + 2 * lanes <= count; t += 2 * lanes) {
    if (fetch && t / 2 % kLineFloats == 0) Fetch(energy + t / 2, kCheckedBlock / 2);
    const Vec low = hn::LoadU(d, values + t);
    const Vec high = hn::LoadU(d, values + t + lanes);
    const Vec low_squares = hn::Mul(low, low);
    const Vec high_squares = hn::Mul(high, high);
    Vec pairs = hn::Add(hn::ConcatEven(d, high_squares, low_squares),
                        hn::ConcatOdd(d, high_squares, low_squares));
    if (!kOverwrite) pairs = hn::Add(hn::LoadU(d, energy + t / 2), pairs);
    hn::StoreU(pairs, d, energy + t / 2);
  }
#endif
  for (; t + 1 < count; t += 2) {
    const float pair = values[t] * values[t] + values[t + 1] * values[t + 1];
    energy[t / 2] = kOverwrite ? pair : energy[t / 2] + pair;
  }
}

struct Job {
  const float* weights;
  const float* values;
  size_t count;
  float* const* sums;
  size_t sum_count;
  float* energy;
  double limit;
  CheckedProjection projection;
  bool fetch;
};

// Returns the sum of squares; `projection` is increased by the other sum.
template <bool kOverwrite, bool kPacked, Look kLook>
double AddBlocks(Job& job) {
  constexpr size_t kWeight = kPacked ? 2 : 1;
  const SignKey key = job.projection.key;
  if (job.fetch) FetchFirst(job.values, job.count, job.sums, job.sum_count);
  Sketch sketch =
      Checked<kLook>(job.values, std::min(kCheckedBlock, job.count), key, job.projection.first);
  for (size_t begin = 0; begin < job.count; begin += kCheckedBlock) {
    if (!(sketch.squares <= job.limit)) return sketch.squares;
    const float* const block = job.values + begin;
    const size_t size = std::min(kCheckedBlock, job.count - begin);
    const size_t next = std::min(kCheckedBlock, job.count - begin - size);
    const size_t sign = job.projection.first + begin + size;  // First sign of the next block.
    const bool whole = next == kCheckedBlock;
    if (!whole || job.sum_count == 0) sketch += Checked<kLook>(block + size, next, key, sign);
    for (size_t r = 0; r < job.sum_count; ++r) {
      const float* const weight = job.weights + kWeight * r;
      float* const sum = job.sums[r] + begin;
      if (!whole && kPacked) {
        AddPairs<kOverwrite>(weight, block, size, sum);
      } else if (!whole) {
        AddReals<kOverwrite>(weight[0], block, size, sum);
      } else if (r == 0) {
        sketch +=
            AddAndLookAhead<kOverwrite, kPacked, kLook>(weight, block, sum, key, sign, job.fetch);
      } else {
        AddAndLookAhead<kOverwrite, kPacked, Look::kNot>(weight, block, sum, key, sign, job.fetch);
      }
    }
    if (job.energy != nullptr)
      AddEnergy<kOverwrite>(block, size, job.energy + begin / 2, job.fetch);
  }
  job.projection.sum += sketch.projection;
  return sketch.squares;
}

template <Look kLook>
double AddAll(bool overwrite, bool packed, Job& job) {
  const auto add = overwrite
                       ? (packed ? AddBlocks<true, true, kLook> : AddBlocks<true, false, kLook>)
                       : (packed ? AddBlocks<false, true, kLook> : AddBlocks<false, false, kLook>);
  return add(job);
}

double AddAllBlocks(const CheckedSums& into, const float* weights, std::span<const float> values,
                    double limit) {
  const bool packed = into.field == Field::kComplexPacked;
  Job job{weights,          values.data(), values.size(), into.sums.data(),
          into.sums.size(), into.energy,   limit,         {},
          FetchesAhead()};
  if (into.projection == nullptr) return AddAll<Look::kSquares>(into.overwrite, packed, job);
  job.projection = *into.projection;
  const double squares = AddAll<Look::kSketch>(into.overwrite, packed, job);
  into.projection->sum = job.projection.sum;
  return squares;
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(AddAllBlocks);

double AddChecked(const CheckedSums& into, std::span<const float> values, double limit) {
  const bool packed = into.field == Field::kComplexPacked;
  MOTLEY_ASSERT(into.weights.size() == into.sums.size() && (!packed || values.size() % 2 == 0));
  MOTLEY_ASSERT(packed || into.energy == nullptr);
  const WeightFloats weights(into.field, into.weights);
  MOTLEY_ASSERT(into.projection == nullptr || into.projection->first % kSignBlock == 0);
  return HWY_DYNAMIC_DISPATCH(AddAllBlocks)(into, weights.data(), values, limit);
}

}  // namespace motley
#endif  // HWY_ONCE
