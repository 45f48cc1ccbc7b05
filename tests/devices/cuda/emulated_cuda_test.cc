// SPDX-License-Identifier: Apache-2.0
// Tests the CUDA driver's operations, compiled for the host from the same source. A block of
// threads is a loop (devices/cuda/kernels/host_block.h), and BLAS is plain loops too.
#include <gtest/gtest.h>

#include "tests/conformance/kernel_battery.h"
#include "tests/conformance/kernels_suite.h"
#include "tests/conformance/layer_kernels_suite.h"
#include "tests/conformance/pointwise_kernels_suite.h"
#include "tests/devices/cuda/emulated_rig.h"

namespace motley::conformance {
namespace {

using cuda::ThreadOrder;

// So few blocks that each must process several parts.
constexpr unsigned kFewBlocks = 3;
constexpr unsigned kManyBlocks = 4096;

std::vector<KernelsCase> EmulatedCases() {
  const auto make = [](ThreadOrder order, unsigned most_blocks) {
    return [=] { return std::make_unique<EmulatedRig>(order, most_blocks); };
  };
  return {{"few_blocks", "", make(ThreadOrder::kAscending, kFewBlocks)},
          {"many_blocks", "", make(ThreadOrder::kAscending, kManyBlocks)},
          {"backwards", "", make(ThreadOrder::kDescending, kFewBlocks)}};
}

INSTANTIATE_TEST_SUITE_P(EmulatedCuda, KernelsSuite, ::testing::ValuesIn(EmulatedCases()),
                         [](const auto& test) { return test.param.name; });

TEST(EmulatedCudaTest, OrderOfThreadsAndBlocksChangesNoBit) {
  EmulatedRig forwards(ThreadOrder::kAscending, kManyBlocks);
  EmulatedRig backwards(ThreadOrder::kDescending, kManyBlocks);
  EXPECT_TRUE(Battery(forwards).Run() == Battery(backwards).Run());
}

TEST(EmulatedCudaTest, OperandsAnywhereInMemoryGiveTheSameBits) {
  EmulatedRig aligned(ThreadOrder::kAscending, kManyBlocks, 0);
  EmulatedRig shifted(ThreadOrder::kAscending, kManyBlocks, 24);
  EXPECT_TRUE(Battery(aligned).Run() == Battery(shifted).Run());
}

TEST(EmulatedCudaTest, ColumnSumsOfMoreColumnsThanThereIsRoomForArePrecise) {
  constexpr size_t kRows = 70;
  for (const size_t columns : {cuda::kPartials - 1, cuda::kPartials + 33}) {
    EmulatedRig rig(ThreadOrder::kAscending, kFewBlocks);
    std::vector<float> x(kRows * columns);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % columns + i / columns);
    const Operand<float> stored(rig, x);
    const Operand<float> sums(rig, std::vector<float>(columns, 1.0f));
    rig.table().add_column_sums(rig.queue(), kRows, columns, 2, stored, sums);
    const auto got = sums.Read();
    for (size_t column = 0; column < columns; ++column) {
      const double want = 1 + 2.0 * (kRows * column + kRows * (kRows - 1) / 2);
      ASSERT_NEAR(got[column], want, 1e-7 * want) << column;
    }
  }
}

TEST(EmulatedCudaTest, WideRowsOfSoftmaxAreSharedByAWholeBlock) {
  constexpr size_t kRows = 5, kColumns = 3001;
  EmulatedRig rig(ThreadOrder::kDescending, kFewBlocks);
  Random random(3, Stream::kTest);
  const auto x = RandomValues(random, kRows * kColumns, -3, 3);
  const Operand<float> stored(rig, x);
  const Operand<float> labels(rig, {0, 1, 2999, 3000, 7});
  const Operand<double> loss(rig, {0.0});
  rig.table().softmax_cross_entropy(rig.queue(), kRows, kColumns, labels, nullptr, stored, loss);
  const auto got = stored.Read();
  const size_t label[] = {0, 1, 2999, 3000, 7};
  double want_loss = 0;
  for (size_t row = 0; row < kRows; ++row) {
    const float* from = x.data() + row * kColumns;
    double sum = 0;
    for (size_t c = 0; c < kColumns; ++c) sum += std::exp(double{from[c]});
    want_loss += std::log(sum) - from[label[row]];
    for (size_t c = 0; c < kColumns; ++c) {
      const double want = std::exp(double{from[c]}) / sum - (c == label[row] ? 1 : 0);
      ASSERT_NEAR(got[row * kColumns + c], want, 1e-7) << row << ", " << c;
    }
  }
  EXPECT_NEAR(loss.Read()[0], want_loss, 1e-7 * want_loss);
}

TEST(EmulatedCudaTest, LongSparseRowsKeepTheirPrecision) {
  constexpr size_t kTerms = 65536;
  EmulatedRig rig(ThreadOrder::kAscending, kManyBlocks);
  Random random(4, Stream::kTest);
  HostCsr host{1, kTerms, {0, kTerms}, {}, RandomValues(random, kTerms, 0.9, 1)};
  for (uint32_t column = 0; column < kTerms; ++column) host.column.push_back(column);
  const DeviceCsr csr(rig, host);
  for (const size_t n : {1, 3}) {
    const Operand<float> b(rig, std::vector<float>(kTerms * n, 0.95f));
    const Operand<float> c(rig, std::vector<float>(n, 0.0f));
    rig.table().csr_times_dense(rig.queue(), &csr.view, n, 1, b, 0, c);
    double want = 0;
    for (const float value : host.value) want += double{value} * 0.95f;
    for (const float value : c.Read()) EXPECT_NEAR(value, want, 2e-7 * want) << n;
  }
}

// A label that is no class must not make a device read or write elsewhere.
TEST(EmulatedCudaTest, LabelsThatAreNoClassTouchNothingElse) {
  EmulatedRig rig(ThreadOrder::kAscending, kFewBlocks);
  const Operand<float> x(rig, std::vector<float>(4 * 3, 0.0f));
  const Operand<float> labels(rig, {-1.0f, 3.0f, 1e30f, kNan});
  const Operand<double> loss(rig, {0.0});
  rig.table().softmax_cross_entropy(rig.queue(), 4, 3, labels, nullptr, x, loss);
  for (const float value : x.Read()) EXPECT_FLOAT_EQ(value, 1.0f / 3);
}

TEST(EmulatedCudaTest, AfterAFailureNothingRunsUntilItIsReported) {
  EmulatedRig rig(ThreadOrder::kAscending, kFewBlocks);
  const Operand<float> x(rig, {1.0f, 1.0f, 1.0f});
  rig.failure().Keep(MOTLEY_DRIVER_NO_MEMORY, "copy_in", "cudaErrorMemoryAllocation",
                     "out of memory");
  rig.failure().Keep(MOTLEY_DRIVER_LOST, "gemm", "CUBLAS_STATUS_EXECUTION_FAILED", "later");
  rig.table().fill(rig.queue(), 3, 2, x);
  rig.table().gemm(rig.queue(), 0, 0, 1, 1, 1, 1, x, x, 0, x);
  EXPECT_EQ(x.Read(), std::vector<float>(3, 1.0f));
  char text[256] = "";
  EXPECT_EQ(rig.failure().Report(text, sizeof(text)), MOTLEY_DRIVER_NO_MEMORY);
  EXPECT_STREQ(text, "copy_in failed: cudaErrorMemoryAllocation, out of memory");
  EXPECT_EQ(rig.failure().Report(text, sizeof(text)), MOTLEY_DRIVER_OK);
  EXPECT_STREQ(text, "");
  rig.table().fill(rig.queue(), 3, 2, x);
  EXPECT_EQ(x.Read(), std::vector<float>(3, 2.0f));
}

TEST(EmulatedCudaTest, TextsOfFailuresAreCutToTheirRoom) {
  cuda::Failure failure;
  failure.Keep(MOTLEY_DRIVER_LOST, "finish", "cudaErrorECCUncorrectable", "memory is broken");
  char text[12] = "";
  EXPECT_EQ(failure.Report(text, sizeof(text)), MOTLEY_DRIVER_LOST);
  EXPECT_STREQ(text, "finish fail");
  failure.Keep(MOTLEY_DRIVER_LOST, "finish", "cudaErrorECCUncorrectable", "memory is broken");
  EXPECT_EQ(failure.Report(nullptr, 0), MOTLEY_DRIVER_LOST);
}

}  // namespace
}  // namespace motley::conformance
