// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/kernels/checked_sum.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "coding/kernels/weights.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/kernels/checked_sum.cc"
#include <hwy/foreach_target.h>
// Must follow foreach_target.
#include <hwy/highway.h>

#include "coding/kernels/add_block-inl.h"
#include "coding/kernels/look_ahead-inl.h"

#ifndef MOTLEY_CODING_SUM_JOB
#define MOTLEY_CODING_SUM_JOB
namespace motley {

struct SumPartJob {
  WeightFloats weights;
  std::span<const float* const> terms;
  std::span<float> out;
};

struct SumJob {
  std::span<const float> answer;
  std::span<const SumPartJob> parts;
  const float* energy;
  float noise_squared;
  double limit;
  CheckedProjection projection;
};

}  // namespace motley
#endif  // MOTLEY_CODING_SUM_JOB

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// One vector of a part, from float t on.
template <bool kPacked>
HWY_INLINE Vec SumOfTerms(const SumPartJob& part, size_t t) {
  const Tag d;
  const float* weight = part.weights.data();
  Vec sum = hn::Zero(d);
  for (const float* const term : part.terms) {
    const Vec value = hn::LoadU(d, term + t);
    sum = hn::MulAdd(hn::Set(d, *weight++), value, sum);
    if (!kPacked) continue;
    sum = hn::MulAdd(ImaginaryFactor(*weight++), hn::Reverse2(d, value), sum);
  }
  return sum;
}

// The squared noise of the pairs from float t on, at both coordinates of each pair.
HWY_INLINE Vec NoiseAt(const SumJob& job, size_t t) {
  const Tag d;
  const Vec value = hn::LoadU(d, job.answer.data() + t);
  const Vec square = hn::Mul(value, value);
  Vec energy = hn::Add(square, hn::Reverse2(d, square));
  if (job.energy != nullptr) {
    const hn::RebindToSigned<Tag> indices;
    const hn::Half<Tag> half;
    const auto twice = hn::IndicesFromVec(d, hn::ShiftRight<1>(hn::Iota(indices, 0)));
    const Vec before = hn::ZeroExtendVector(d, hn::LoadU(half, job.energy + t / 2));
    energy = hn::Add(hn::TableLookupLanes(before, twice), energy);
  }
  // Energies too large for a float must not hide values far above the noise.
  energy = hn::Min(energy, hn::Set(d, std::numeric_limits<float>::max()));
  return hn::Mul(hn::Set(d, job.noise_squared), energy);
}
#endif

// Computes the floats [t, end) of a part that fill no whole vector.
template <bool kPacked>
void SumRest(const SumJob& job, const SumPartJob& part, size_t t, size_t end) {
  const float* const answer = job.answer.data();
  for (; t < end; t += kPacked ? 2 : 1) {
    const float* weight = part.weights.data();
    float sum[2] = {0, 0};
    for (const float* const term : part.terms) {
      const float re = *weight++;
      const float im = kPacked ? *weight++ : 0;
      sum[0] += kPacked ? re * term[t] - im * term[t + 1] : re * term[t];
      if (kPacked) sum[1] += re * term[t + 1] + im * term[t];
    }
    if (!kPacked) {
      part.out[t] = sum[0];
      continue;
    }
    const float pair = answer[t] * answer[t] + answer[t + 1] * answer[t + 1];
    const float all = job.energy == nullptr ? pair : job.energy[t / 2] + pair;
    const float energy = std::min(all, std::numeric_limits<float>::max());
    for (size_t i = 0; i < 2; ++i) {
      part.out[t + i] = sum[i] * sum[i] < job.noise_squared * energy ? 0 : sum[i];
    }
  }
}

// Writes floats [begin, end) of all parts. Unless kNot they are a whole block, and the next whole
// block, which begins with sign `first`, is checked meanwhile.
template <bool kPacked, Look kLook>
Sketch SumBlock(const SumJob& job, size_t begin, size_t end, [[maybe_unused]] size_t first) {
#if HWY_TARGET == HWY_SCALAR
  const size_t lanes = kCheckedBlock + 1;  // No vectors.
#else
  const Tag d;
  const size_t lanes = hn::Lanes(d);
  const float* const next = kLook == Look::kNot ? nullptr : job.answer.data() + end;
  const BlockLook<kLook> look(next, job.projection.key, first);
  WideVec low_squares = hn::Zero(Wide()), high_squares = hn::Zero(Wide());
  WideVec low_sum = hn::Zero(Wide()), high_sum = hn::Zero(Wide());
  for (size_t t = begin; t + lanes <= end; t += lanes) {
    look.Add(t - begin, low_squares, high_squares, low_sum, high_sum);
    const Vec noise = kPacked ? NoiseAt(job, t) : hn::Zero(d);
    for (const SumPartJob& part : job.parts) {
      if (t + lanes > part.out.size()) continue;
      Vec sum = SumOfTerms<kPacked>(part, t);
      if (kPacked) sum = hn::IfThenZeroElse(hn::Lt(hn::Mul(sum, sum), noise), sum);
      hn::StoreU(sum, d, part.out.data() + t);
    }
  }
#endif
  for (const SumPartJob& part : job.parts) {
    const size_t part_end = std::min(end, part.out.size());
    if (part_end <= begin) continue;
    SumRest<kPacked>(job, part, part_end - (part_end - begin) % lanes, part_end);
  }
#if HWY_TARGET == HWY_SCALAR
  return Checked<kLook>(job.answer.data() + end, kCheckedBlock, job.projection.key, first);
#else
  if (kLook == Look::kNot) return {};
  return SketchOfSums(low_squares, high_squares, low_sum, high_sum);
#endif
}

// Returns the sum of squares; `projection` is increased by the other sum.
template <bool kPacked, Look kLook>
double SumBlocks(SumJob& job) {
  const SignKey key = job.projection.key;
  const size_t count = job.answer.size();
  Sketch sketch =
      Checked<kLook>(job.answer.data(), std::min(kCheckedBlock, count), key, job.projection.first);
  for (size_t begin = 0; begin < count; begin += kCheckedBlock) {
    if (!(sketch.squares <= job.limit)) return sketch.squares;
    const size_t end = std::min(begin + kCheckedBlock, count);
    const size_t next = std::min(kCheckedBlock, count - end);
    const size_t sign = job.projection.first + end;  // First sign of the next block.
    if (next == kCheckedBlock) {
      sketch += SumBlock<kPacked, kLook>(job, begin, end, sign);
    } else {
      sketch += Checked<kLook>(job.answer.data() + end, next, key, sign);
      SumBlock<kPacked, Look::kNot>(job, begin, end, sign);
    }
  }
  job.projection.sum += sketch.projection;
  return sketch.squares;
}

double SumAllBlocks(bool packed, bool projection, SumJob& job) {
  if (projection) {
    return packed ? SumBlocks<true, Look::kSketch>(job) : SumBlocks<false, Look::kSketch>(job);
  }
  return packed ? SumBlocks<true, Look::kSquares>(job) : SumBlocks<false, Look::kSquares>(job);
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(SumAllBlocks);

double SumChecked(const CheckedParts& into, std::span<const float> answer, double limit) {
  const bool packed = into.field == Field::kComplexPacked;
  MOTLEY_ASSERT(packed ? answer.size() % 2 == 0 : into.energy == nullptr);
  std::array<SumPartJob, 4> few;  // Short answers come often, so a few parts need no heap memory.
  std::vector<SumPartJob> many;
  if (into.parts.size() > few.size()) many.resize(into.parts.size());
  const std::span<SumPartJob> parts =
      many.empty() ? std::span(few).first(into.parts.size()) : std::span(many);
  for (size_t i = 0; i < parts.size(); ++i) {
    const SummedPart& part = into.parts[i];
    MOTLEY_ASSERT(part.weights.size() == part.terms.size() && part.out.size() <= answer.size());
    MOTLEY_ASSERT(!packed || part.out.size() % 2 == 0);
    parts[i] = {WeightFloats(into.field, part.weights), part.terms, part.out};
  }
  SumJob job{.answer = answer,
             .parts = parts,
             .energy = into.energy,
             .noise_squared = static_cast<float>(into.noise * into.noise),
             .limit = limit,
             .projection = {}};
  if (into.projection != nullptr) job.projection = *into.projection;
  MOTLEY_ASSERT(job.projection.first % kSignBlock == 0);
  const double squares =
      HWY_DYNAMIC_DISPATCH(SumAllBlocks)(packed, into.projection != nullptr, job);
  if (into.projection != nullptr) into.projection->sum = job.projection.sum;
  return squares;
}

}  // namespace motley
#endif  // HWY_ONCE
