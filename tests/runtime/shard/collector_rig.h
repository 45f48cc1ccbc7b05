// SPDX-License-Identifier: Apache-2.0
// What tests of the server's collectors have in common: short vectors in slices, and the events
// that come of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/parallel.h"
#include "coding/kernels/sketch.h"
#include "runtime/links/slicing.h"
#include "scheduler/scheduler.h"
#include "transport/wire/header.h"

namespace motley {

class CollectorRig : public testing::Test {
 protected:
  static constexpr size_t kLength = 10;
  static constexpr size_t kSlice = 4;  // Three slices.

  static Header SliceHeader(StepId step, uint32_t row, size_t slice) {
    const size_t size = std::min(kSlice, kLength - slice * kSlice);
    Header header;
    header.kind = FrameKind::kGradient;
    header.step = header.version = step;
    header.row_id = row;
    header.offset = slice * kSlice;
    header.total = kLength;
    header.length = static_cast<uint32_t>(size * sizeof(float));
    return header;
  }
  static void Sign(Header& header, std::span<const float> values) {
    const Sketch sketch = SketchOf(values, SignsOf(header));
    header.norm = std::sqrt(sketch.squares);
    header.sketch = sketch.projection;
  }
  // The header of a slice of `value`s that says this of their norm, be it true or not.
  static void Claim(Header& header, float value, std::optional<double> norm) {
    Sign(header, std::vector<float>(header.length / sizeof(float), value));
    if (!norm) return;
    header.norm = *norm;
    if (std::isnan(header.sketch)) header.sketch = 0;
  }
  template <typename Kind>
  std::vector<Kind> Of() const {
    std::vector<Kind> found;
    for (const Event& event : events) {
      if (const auto* kind = std::get_if<Kind>(&event)) found.push_back(*kind);
    }
    return found;
  }

  std::unique_ptr<ParallelFor> parallel = MakeSerialParallelFor();
  std::vector<Event> events;
};

}  // namespace motley
