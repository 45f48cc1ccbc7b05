// SPDX-License-Identifier: Apache-2.0
#include "sim/world/garbler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "coding/gradient_code.h"
#include "coding/kernels/combine.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr size_t kSlice = 100;
constexpr size_t kSlices = 3;

std::vector<float> ValuesOf(size_t slice, bool few) {
  std::vector<float> values(kSlice, 0.0F);
  for (size_t i = 0; i < (few ? 5 : kSlice); ++i) {
    values[i] = static_cast<float>(static_cast<double>(slice * kSlice + i) - 3.5);
  }
  return values;
}

// Returns the number of slices of an answer that were changed. Their norms must stay.
size_t Send(Garbler& garbler, StepId step, bool few = false) {
  size_t changed = 0;
  for (size_t slice = 0; slice < kSlices; ++slice) {
    Header header;
    header.kind = FrameKind::kGradient;
    header.step = step;
    header.offset = slice * kSlice;
    header.total = kSlices * kSlice;
    std::vector<float> values = ValuesOf(slice, few);
    Bytes payload(values.size() * sizeof(float));
    std::memcpy(payload.data(), values.data(), payload.size());
    garbler.Pass(header, payload);
    std::vector<float> after(values.size());
    std::memcpy(after.data(), payload.data(), payload.size());
    changed += after != values;
    EXPECT_NEAR(SumOfSquares(after), SumOfSquares(values), 1e-9 * SumOfSquares(values));
  }
  return changed;
}

TEST(Garbler, DamagesOneSliceOfOneAnswerOfTheStep) {
  for (const bool few : {false, true}) {
    for (uint64_t draw = 0; draw < 12; ++draw) {
      Garbler garbler;
      garbler.Add(7, draw);
      EXPECT_EQ(Send(garbler, 6, few), 0u);
      EXPECT_EQ(Send(garbler, 7, few), 1u) << draw;
      EXPECT_EQ(Send(garbler, 7, few), 0u);
      EXPECT_EQ(garbler.garbled(), 1u);
    }
  }
}

// With every code, no sum contains damaged slices, and the server refuses the damaged answers.
TEST(Garbler, DamagedSlicesAreInNoSum) {
  const Dataset data = MakeSyntheticDataset(2048, 6, 3, 5);
  for (const char* code : {"none", "repetition", "heterogeneous", "rs", "adaptive", "multi-message",
                           "partial-coded", "short", "auto"}) {
    SimOptions options;
    options.job.workers = 4;
    options.job.steps = 60;
    options.job.code = code;
    options.job.parts = SchemeNamed(code).has_parts ? 2 : 1;
    options.job.model = {"mlp:8", 6, 3};
    options.job.slice_length = 32;
    for (const double speed : {4000.0, 2000.0, 2000.0, 1000.0}) {
      WorkerProfile worker;
      worker.device = {.samples_per_second = speed, .overhead_seconds = 1e-4, .jitter = 0.03};
      worker.link = {.latency_seconds = 1e-4, .bytes_per_second = 1e6};
      options.cluster.workers.push_back(worker);
    }
    options.random_faults = {.garble_every = 0.1, .until_seconds = 2};
    uint64_t garbled = 0, refused = 0;
    for (options.seed = 1; options.seed <= 5; ++options.seed) {
      const auto result = Simulate(options, data, nullptr);
      ASSERT_TRUE(result.ok()) << result.status().ToString();
      EXPECT_THAT(result->violations, testing::IsEmpty()) << code;
      EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
      EXPECT_LT(result->serial_difference, 1e-4) << code;
      const auto found = result->reached.find("slice garbled");
      if (found != result->reached.end()) garbled += found->second;
      for (const WorkerStats& worker : result->job.scheduler.workers) refused += worker.rejected;
    }
    EXPECT_GT(garbled, 5u) << code;
    EXPECT_GT(refused, 0u) << code;
    EXPECT_LE(refused, garbled) << code;
  }
}

}  // namespace
}  // namespace motley
