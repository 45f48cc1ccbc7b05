// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/kernels/sketch.h"

#include "base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/kernels/sketch.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "coding/kernels/sketch_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

Sketch SketchBlocks(const float* values, size_t count, SignKey key, size_t first) {
  Sketch sketch;
  for (size_t begin = 0; begin < count; begin += kSignBlock) {
    const size_t size = std::min<size_t>(kSignBlock, count - begin);
    sketch += SketchBlock(values + begin, size, key, first + begin);
  }
  return sketch;
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(SketchBlocks);

Sketch SketchOf(std::span<const float> values, SignKey key, size_t first) {
  MOTLEY_ASSERT(first % kSignBlock == 0);
  return HWY_DYNAMIC_DISPATCH(SketchBlocks)(values.data(), values.size(), key, first);
}

Sketch reference::SketchOf(std::span<const float> values, SignKey key, size_t first) {
  Sketch sketch;
  for (size_t t = 0; t < values.size(); ++t) {
    const double value = values[t];
    sketch.squares += value * value;
    sketch.projection += SignOf(key, first + t) != 0 ? -value : value;
  }
  return sketch;
}

}  // namespace motley
#endif  // HWY_ONCE
