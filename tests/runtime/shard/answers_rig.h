// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the server's answers: short vectors in slices, and the events that they
// cause.
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
#include "runtime/shard/answers.h"
#include "scheduler/scheduler.h"
#include "transport/wire/header.h"

namespace motley {

class AnswersRig : public testing::Test {
 protected:
  static constexpr size_t kLength = 10;
  static constexpr size_t kSlice = 4;  // Three slices.

  static Header SliceHeader(StepId step, uint32_t order, size_t slice) {
    const size_t size = std::min(kSlice, kLength - slice * kSlice);
    Header header;
    header.kind = FrameKind::kGradient;
    header.step = header.version = step;
    header.row_id = order;
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
  // Sets the header of a slice of `value`s to claim this norm, right or wrong.
  static void Claim(Header& header, float value, std::optional<double> norm) {
    Sign(header, std::vector<float>(header.length / sizeof(float), value));
    if (!norm) return;
    header.norm = *norm;
    if (std::isnan(header.sketch)) header.sketch = 0;
  }
  static uint32_t NumberOf(const Bytes& order) {
    return DecodeControl(order).value().body.AsOrder()->order;
  }
  Answers Make(Answers::Shape shape) {
    return Answers(shape, *parallel,
                   {[this](const Event& event) { events.push_back(event); },
                    [this](WorkerId, std::span<const PartitionId> some) {
                      covered.insert(covered.end(), some.begin(), some.end());
                    }});
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
  std::vector<PartitionId> covered;
};

}  // namespace motley
