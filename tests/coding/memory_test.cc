// SPDX-License-Identifier: Apache-2.0
// Measures the memory of a decoded step by counting every allocation of this program.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "coding/decode/stream_decoder.h"
#include "coding/gradient_code.h"
#include "tests/conformance/counted_memory.h"

namespace motley {
namespace {

constexpr size_t kLength = 1'000'000;
constexpr size_t kSlice = 1 << 16;
constexpr uint32_t kWorkers = 32;

// The most memory allocated while these rows were decoded one after the other, including the
// decoder and the room for the sum.
size_t PeakOf(const CodeForm& form, const std::vector<RowId>& rows, DecodeLimits limits = {}) {
  const auto parallel = MakeSerialParallelFor();
  const std::vector<float> answer(kSlice, 1);
  const size_t before = AllocatedBytes();
  ResetMostAllocated();
  std::vector<float> sum(kLength);
  StreamDecoder decoder(form, kLength, kSlice, *parallel, limits);
  decoder.SetHome(sum);
  for (const RowId row : rows) {
    for (size_t slice = 0; slice < decoder.slice_count(); ++slice) {
      AlignedVector arrived(answer.begin(),
                            answer.begin() + static_cast<ptrdiff_t>(decoder.slice_length(slice)));
      EXPECT_TRUE(decoder.AddSlice(row, slice, arrived, 1e9).ok());
    }
  }
  const Status status = decoder.Finish(sum);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return MostAllocatedBytes() - before;
}

Result<CodeForm> Build(const std::string& code, uint32_t workers, uint32_t stragglers) {
  CodeRequest request;
  request.speeds.assign(workers, 1);
  request.stragglers = stragglers;
  request.partitions = workers;
  return BuildCode(code, request);
}

class DecodeMemory : public ::testing::TestWithParam<const char*> {};

TEST_P(DecodeMemory, IsAtMostTheAccumulatorsTheSumAndASlice) {
  const std::string code = GetParam();
  const uint32_t stragglers = code == "none" ? 0 : 2;
  const Result<CodeForm> form = Build(code, kWorkers, stragglers);
  ASSERT_TRUE(form.ok());
  const size_t gradient = kLength * sizeof(float);
  const size_t bound = (stragglers + 2) * gradient + kSlice * sizeof(float);
  std::vector<RowId> rows(kWorkers - stragglers);
  std::iota(rows.begin(), rows.end(), stragglers);
  const size_t peak = PeakOf(*form, rows);
  EXPECT_LE(peak, bound);
  EXPECT_GE(peak, gradient);  // Allocations are counted at all.
}

INSTANTIATE_TEST_SUITE_P(Codes, DecodeMemory,
                         ::testing::Values("none", "repetition", "cyclic", "heterogeneous", "rs"));

// The worst order: the last answer is first in everybody's order, so nothing is added before it.
TEST(TilingMemory, IsBoundedInTheWorstOrderToo) {
  constexpr uint32_t kGrouped = 33;
  const size_t gradient = kLength * sizeof(float);
  std::vector<RowId> rows(kGrouped);
  std::iota(rows.rbegin(), rows.rend(), 0);
  for (const auto& [code, stragglers] : {std::pair("none", 0U), std::pair("repetition", 2U)}) {
    const Result<CodeForm> form = Build(code, kGrouped, stragglers);
    ASSERT_TRUE(form.ok());
    ASSERT_TRUE(form->tiling());
    const size_t slice = kSlice * sizeof(float);
    // One more slice allows for the decoder's records of rows and slices.
    const size_t tight = PeakOf(*form, rows, {.waiting_bytes = 0});
    EXPECT_LE(tight, (stragglers + 2) * gradient + 2 * slice) << code;
    EXPECT_GE(tight, (stragglers + 2) * gradient - slice) << code;  // The room is used.
    const size_t usual = PeakOf(*form, rows);
    EXPECT_LE(usual, gradient + DecodeLimits().waiting_bytes + 2 * slice) << code;
    EXPECT_GE(usual, tight) << code;
  }
}

}  // namespace
}  // namespace motley
