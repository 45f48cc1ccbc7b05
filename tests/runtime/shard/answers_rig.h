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
  explicit AnswersRig(size_t shards)
      : ends(std::vector<std::vector<size_t>>{{10}, {4, 10}, {4, 8, 10}}[shards - 1]) {}

  static constexpr size_t kLength = 10;
  static constexpr size_t kSlice = 4;  // Three slices.

  struct Shape {
    uint32_t workers = 1;
    uint32_t partitions = 1;
    std::optional<Route> route;  // Instead of the rig's shards.
    size_t slice_length = kSlice;
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
  Answers Make(const Shape& shape) {
    const Route route = shape.route ? *shape.route : Route::Parse(kLength, Ends()).value();
    return Answers(
        shape.workers, shape.partitions,
        {[this](const Event& event) { events.push_back(event); },
         [this](WorkerId, StepId, std::span<const PartitionId> some) {
           covered.insert(covered.end(), some.begin(), some.end());
         },
         [this, route, length = shape.slice_length]() -> Result<std::shared_ptr<UpdateSum>> {
           for (auto& sum : sums) {
             if (sum.use_count() == 1) std::swap(sum, sums.back());
           }
           if (sums.empty() || sums.back().use_count() > 1) {
             sums.push_back(std::make_shared<UpdateSum>(route, length, *parallel, false));
           }
           return sums.back();
         },
         [this] { return newest; }, sent});
  }
  // The sum of the update that was opened last, or that is closed now.
  const UpdateSum& sum() const { return *sums.back(); }
  std::vector<float> Values() const {
    const std::span<float> values = sums.back()->values();
    return {values.begin(), values.end()};
  }
  std::vector<float> Close(Answers& answers, StepId id) {
    const Result<std::shared_ptr<UpdateSum>> closed = answers.Close(id);
    EXPECT_TRUE(closed.ok()) << closed.status().ToString();
    if (!closed.ok()) return {};
    return {(*closed)->values().begin(), (*closed)->values().end()};
  }
  template <typename Kind>
  std::vector<Kind> Of() const {
    std::vector<Kind> found;
    for (const Event& event : events) {
      if (const auto* kind = std::get_if<Kind>(&event)) found.push_back(*kind);
    }
    return found;
  }

  const std::vector<size_t> ends;  // The ends of the shards' ranges.
  std::unique_ptr<ParallelFor> parallel = MakeSerialParallelFor();
  std::vector<Event> events;
  std::vector<PartitionId> covered;
  uint64_t newest = 0;  // The newest version of the parameters.
  // The hook of the Answers that are made next; empty: none.
  std::function<ParameterCopy(WorkerId, uint64_t)> sent;
  std::vector<std::shared_ptr<UpdateSum>> sums;  // Those of all updates that were opened.

 private:
  std::vector<uint64_t> Ends() const { return {ends.begin(), ends.end()}; }
};

// A suite that runs with one, two and three shards.
class ShardedAnswers : public AnswersRig, public testing::WithParamInterface<size_t> {
 protected:
  ShardedAnswers() : AnswersRig(GetParam()) {}
};

}  // namespace motley
