// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/sum_task.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "coding/kernels/wire_floats.h"
#include "runtime/links/packed_slice.h"

namespace motley {
namespace {

constexpr SumTask kTask{.workers = 4, .length = 5000};
constexpr uint64_t kStep = 3;

// Two shards. Their last blocks and slices are shorter than others.
Slicing CutFor(WireFormat format) { return Slicing({1400, kTask.length}, 1024, format); }

std::vector<float> ValuesOf(uint32_t worker, uint64_t step) {
  std::vector<float> values(kTask.length);
  for (size_t i = 0; i < values.size(); ++i) values[i] = ValueOf(i, worker, step);
  return values;
}

// What arrives.
void Round(const Slicing& cut, uint32_t name, std::vector<float>& values) {
  std::vector<std::byte> bytes;
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    const std::span<float> part = std::span(values).subspan(cut.begin(slice), cut.size(slice));
    bytes.resize(cut.bytes(slice));
    PackFloats(cut.format(), part, DrawsOfAnswer(0, kStep, name, cut.begin(slice)), bytes,
               part.data());
  }
}

// The sum of the answers of `workers` workers, which has travelled as well.
std::vector<float> SumOf(const Slicing& cut, uint32_t workers, uint64_t step = kStep) {
  std::vector<float> sum(kTask.length);
  for (uint32_t worker = 0; worker < workers; ++worker) {
    std::vector<float> answer = ValuesOf(worker, step);
    Round(cut, worker, answer);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += answer[i];
  }
  Round(cut, workers, sum);
  return sum;
}

std::optional<size_t> FirstWrongOf(const std::vector<float>& sum, const Slicing& cut) {
  return FirstWrong(kTask, sum, kStep, cut);
}

TEST(SumCheck, PassesSumsThatWereRoundedBothWays) {
  for (const WireFormat format : kWireFormats) {
    const Slicing cut = CutFor(format);
    EXPECT_EQ(FirstWrongOf(SumOf(cut, kTask.workers), cut), std::nullopt) << NameOf(format);
  }
}

TEST(SumCheck, FindsTheSumOfAnotherStep) {
  for (const WireFormat format : kWireFormats) {
    const Slicing cut = CutFor(format);
    for (const uint64_t step : {kStep - 1, kStep + 1}) {
      EXPECT_NE(FirstWrongOf(SumOf(cut, kTask.workers, step), cut), std::nullopt)
          << NameOf(format) << ", step " << step;
    }
  }
}

TEST(SumCheck, FindsAWorkerThatIsMissing) {
  for (const WireFormat format : kWireFormats) {
    const Slicing cut = CutFor(format);
    EXPECT_NE(FirstWrongOf(SumOf(cut, kTask.workers - 1), cut), std::nullopt) << NameOf(format);
  }
}

TEST(SumCheck, FindsSumsThatAreRoundedMoreThanTheirFormatAllows) {
  const std::vector<float> int8 = SumOf(CutFor(WireFormat::kInt8), kTask.workers);
  EXPECT_NE(FirstWrongOf(int8, CutFor(WireFormat::kBf16)), std::nullopt);
  const std::vector<float> bf16 = SumOf(CutFor(WireFormat::kBf16), kTask.workers);
  EXPECT_NE(FirstWrongOf(bf16, CutFor(WireFormat::kFloat32)), std::nullopt);
}

// Values of the block grow to 1020 + 3 at the first worker, and to 3 more at the last one.
TEST(SumCheck, AllowsStepsOfTheBlocksLargestValue) {
  const Slicing cut({kTask.length}, 1024, WireFormat::kInt8);
  constexpr size_t kAt = 1020;  // In the block from 768 to 1024.
  constexpr double kSum = 4 * (1020 + 997 * 3) + 6;
  constexpr double kTolerance = kSum / 127 + (kSum + kSum / 127) / 127;
  std::vector<float> sum = SumOf(CutFor(WireFormat::kFloat32), kTask.workers);
  ASSERT_EQ(sum[kAt], static_cast<float>(kSum));
  for (const double sign : {-1, 1}) {
    sum[kAt] = static_cast<float>(kSum + sign * kTolerance * 0.999);
    EXPECT_EQ(FirstWrongOf(sum, cut), std::nullopt);
    sum[kAt] = static_cast<float>(kSum + sign * kTolerance * 1.001);
    EXPECT_EQ(FirstWrongOf(sum, cut), kAt);
  }
}

TEST(SumCheck, FindsNaN) {
  std::vector<float> sum = SumOf(CutFor(WireFormat::kFloat32), kTask.workers);
  sum[4999] = NAN;
  EXPECT_EQ(FirstWrongOf(sum, CutFor(WireFormat::kInt8)), 4999U);
}

}  // namespace
}  // namespace motley
