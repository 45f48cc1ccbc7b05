// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/slice_sums.h"

#include "coding/kernels/combine.h"

namespace motley {

Sketch SketchFor(const Claim& claim, std::span<const float> values) {
  if (!claim.has_projection) return {SumOfSquares(values), 0};
  return SketchOf(values, claim.key);
}

Sketch ParallelSketch(std::span<const float> values, const Claim& claim, ParallelFor& parallel) {
  if (values.size() <= kCombineGrain) return SketchFor(claim, values);
  std::vector<Sketch> parts((values.size() + kCombineGrain - 1) / kCombineGrain);
  parallel.For(values.size(), kCombineGrain, [&](size_t begin, size_t end) {
    const std::span<const float> part = values.subspan(begin, end - begin);
    parts[begin / kCombineGrain] =
        claim.has_projection ? SketchOf(part, claim.key, begin) : Sketch{SumOfSquares(part), 0};
  });
  return SumOf(parts);
}

namespace {

template <typename Into>
Sketch CheckedPart(double (*work)(const Into&, std::span<const float>, double), Into into,
                   std::span<const float> part, const SliceBounds& bounds, size_t begin) {
  CheckedProjection projection{bounds.claim.key, begin};
  into.projection = bounds.claim.has_projection ? &projection : nullptr;
  const double squares = work(into, part, bounds.squares);
  return {squares, projection.sum};
}

}  // namespace

Sketch AddCheckedPart(CheckedSums into, std::span<const float> part, const SliceBounds& bounds,
                      size_t begin) {
  return CheckedPart(AddChecked, into, part, bounds, begin);
}

Sketch SumCheckedPart(CheckedParts into, std::span<const float> part, const SliceBounds& bounds,
                      size_t begin) {
  return CheckedPart(SumChecked, into, part, bounds, begin);
}

std::vector<SliceSums::Term> TermsOfVector(std::span<const Complex> a, uint32_t parts) {
  std::vector<SliceSums::Term> terms;
  for (RowId row = 0; row < a.size() / parts; ++row) {
    const Complex weight = a[size_t{row} * parts];
    if (weight != Complex(0)) terms.push_back({row, weight});
  }
  return terms;
}

Sketch SumOf(std::span<const Sketch> parts) {
  Sketch sum;
  for (const Sketch& part : parts) sum += part;
  return sum;
}

}  // namespace motley
