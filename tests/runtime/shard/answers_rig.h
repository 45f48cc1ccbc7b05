// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the server's answers: short vectors in slices, and the events that they
// cause. The vector belongs to one shard, or to two or three that cut it into the same slices.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/parallel.h"
#include "coding/gradient_code.h"
#include "coding/kernels/sketch.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/answers.h"
#include "scheduler/scheduler.h"
#include "transport/wire/header.h"

namespace motley {

class AnswersRig : public testing::Test {
 protected:
  explicit AnswersRig(size_t shards) : ends(Ends()[shards - 1]) {}

  static constexpr size_t kLength = 10;
  static constexpr size_t kSlice = 4;  // Three slices.

  struct Shape {
    uint32_t workers = 1;
    uint32_t partitions = 1;
    std::span<float> home = {};  // Where the sum is formed; a buffer of the rig's if it is empty.
    bool keep_rows = false;      // As in DecodeLimits.
    size_t slice_length = kSlice;
    std::vector<size_t> ends = {};  // The ends of the shards' ranges; the rig's if it is empty.
  };

  Header SliceHeader(StepId step, uint32_t order, size_t slice) const {
    const size_t size = std::min(kSlice, kLength - slice * kSlice);
    Header header;
    header.kind = FrameKind::kGradient;
    header.step = header.version = step;
    header.row_id = order;
    header.offset = slice * kSlice;
    header.shard = static_cast<uint32_t>(Slicing(ends, kSlice).ShardOf(slice));
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
  static std::shared_ptr<const CodeForm> Form(const char* code, uint32_t workers,
                                              uint32_t stragglers) {
    CodeRequest request;
    request.speeds.assign(workers, 1);
    request.stragglers = stragglers;
    request.partitions = workers;
    return std::make_shared<const CodeForm>(BuildCode(code, request).value());
  }
  static uint32_t NumberOf(const Bytes& order) {
    return DecodeControl(order).value().body.AsOrder()->order;
  }
  Answers Make(Shape shape) {
    if (shape.ends.empty()) shape.ends = ends;
    if (shape.home.empty()) {
      own_home_.resize(shape.ends.back());
      shape.home = own_home_;
    }
    std::vector<StepSum*> sums;
    size_t begin = 0;
    for (const size_t end : shape.ends) {
      sums_.push_back(std::make_unique<StepSum>(shape.home.subspan(begin, end - begin),
                                                shape.slice_length, *parallel, shape.keep_rows));
      sums.push_back(sums_.back().get());
      begin = end;
    }
    return Answers(shape.workers, shape.partitions, std::move(sums),
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

  const std::vector<size_t> ends;
  std::unique_ptr<ParallelFor> parallel = MakeSerialParallelFor();
  std::vector<Event> events;
  std::vector<PartitionId> covered;

 private:
  static const std::vector<std::vector<size_t>>& Ends() {
    static const std::vector<std::vector<size_t>> ends = {{10}, {4, 10}, {4, 8, 10}};
    return ends;
  }

  AlignedVector own_home_;
  std::vector<std::unique_ptr<StepSum>> sums_;
};

// A suite that runs with one, two and three shards.
class ShardedAnswers : public AnswersRig, public testing::WithParamInterface<size_t> {
 protected:
  ShardedAnswers() : AnswersRig(GetParam()) {}
};

}  // namespace motley
