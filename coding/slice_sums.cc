// SPDX-License-Identifier: Apache-2.0
#include "coding/slice_sums.h"

#include "coding/combine.h"

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

Sketch AddCheckedPart(CheckedSums into, std::span<const float> part, const SliceBounds& bounds,
                      size_t begin) {
  CheckedProjection projection{bounds.claim.key, begin};
  into.projection = bounds.claim.has_projection ? &projection : nullptr;
  const double squares = AddChecked(into, part, bounds.squares);
  return {squares, projection.sum};
}

Sketch SumOf(std::span<const Sketch> parts) {
  Sketch sum;
  for (const Sketch& part : parts) sum += part;
  return sum;
}

}  // namespace motley
