// SPDX-License-Identifier: Apache-2.0
// Runs every CUDA kernel with cooperating threads on real threads
// (tests/devices/cuda/thread_block.h), with as few values as all of its phases need.
#include <gtest/gtest.h>

#include <cmath>

#include "base/signs.h"
#include "tests/devices/cuda/emulated_rig.h"

namespace motley::conformance {
namespace {

class ThreadedCudaTest : public ::testing::Test {
 protected:
  Operand<float> Ones(size_t count) { return {rig_, std::vector<float>(count, 1.0f)}; }
  const motley_kernels& table() { return rig_.table(); }

  EmulatedRig rig_{cuda::ThreadOrder::kAscending, 2};
  void* const queue_ = rig_.queue();
};

TEST_F(ThreadedCudaTest, PointwiseKernels) {
  constexpr size_t kCount = 5000;
  const auto x = Ones(kCount), y = Ones(kCount);
  table().axpy(queue_, kCount, 2, x, y);
  table().add_bias(queue_, 100, 50, x, y);
  EXPECT_EQ(y.Read(), std::vector<float>(kCount, 4.0f));
}

TEST_F(ThreadedCudaTest, Sums) {
  const auto x = Ones(10000);
  const Operand<double> sum(rig_, {0.0});
  table().sum_of_squares(queue_, 10000, x, sum);
  EXPECT_EQ(sum.Read()[0], 10000);
  const Operand<double> sketch(rig_, {0.0, 0.0});
  table().sketch(queue_, 10000, 7, x, sketch);
  EXPECT_EQ(sketch.Read()[0], 10000);
  double signs = 0;
  for (size_t i = 0; i < 10000; ++i) signs += SignOf(SignKeyOf(7), i) != 0 ? -1 : 1;
  EXPECT_EQ(sketch.Read()[1], signs);
  for (const size_t columns : {1, 3, 40}) {
    const auto sums = Ones(columns);
    table().add_column_sums(queue_, 10000 / columns, columns, 1, x, sums);
    EXPECT_EQ(sums.Read()[columns - 1], 1.0f + static_cast<float>(10000 / columns));
  }
}

TEST_F(ThreadedCudaTest, Losses) {
  for (const auto& [rows, columns] :
       {std::pair<size_t, size_t>{700, 1}, {600, 3}, {90, 40}, {7, 3000}}) {
    const auto x = Ones(rows * columns);
    const auto label = Operand<float>(rig_, std::vector<float>(rows, 0.0f));
    const Operand<double> loss(rig_, {0.0});
    table().softmax_cross_entropy(queue_, rows, columns, label, nullptr, x, loss);
    const double want = static_cast<double>(rows) * std::log(static_cast<double>(columns));
    EXPECT_NEAR(loss.Read()[0], want, 1e-6 * want);
  }
  const auto x = Ones(700), label = Ones(700);
  const Operand<double> loss(rig_, {0.0});
  table().logistic_loss(queue_, 700, label, nullptr, x, loss);
  table().squared_loss(queue_, 700, label, label, loss);
  EXPECT_NEAR(loss.Read()[0], 700 * std::log1p(std::exp(-1.0)), 1e-6);
}

TEST_F(ThreadedCudaTest, SparseProducts) {
  Random random(9, Stream::kTest);
  for (const size_t n : {1, 3, 150}) {
    const HostCsr host = RandomCsr(random, 70, 90, 0.3);
    const DeviceCsr csr(rig_, host);
    const auto b = Ones(90 * n), c = Ones(90 * n);
    table().csr_times_dense(queue_, &csr.view, n, 1, b, 0, c);
    table().csr_transposed_times_dense(queue_, &csr.view, n, 1, b, c);
    for (const float value : c.Read()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_F(ThreadedCudaTest, RowsOfATeamEach) {
  for (const auto& [rows, columns] : {std::pair<size_t, size_t>{700, 1}, {90, 40}, {5, 3000}}) {
    const auto x = Ones(rows * columns), out = Ones(rows * columns), gain = Ones(columns);
    const auto sums = Ones(rows), inverse = Ones(rows);
    table().add_row_sums(queue_, rows, columns, 1, x, sums);
    EXPECT_EQ(sums.Read()[rows - 1], 1.0f + static_cast<float>(columns));
    table().layer_norm(queue_, rows, columns, 1, gain, gain, x, inverse, out);
    EXPECT_EQ(out.Read(), std::vector<float>(rows * columns, 1.0f));
    table().layer_norm_backward(queue_, rows, columns, gain, inverse, x, out);
    EXPECT_EQ(out.Read(), std::vector<float>(rows * columns, 0.0f));
  }
}

TEST_F(ThreadedCudaTest, WindowsOverImages) {
  const motley_window window{8, 8, 3, 3, 3, 1, 1, 8, 8}, pool{8, 8, 3, 2, 2, 2, 0, 4, 4};
  const auto images = Ones(5 * 192), patches = Ones(5 * 192 * 9), out = Ones(5 * 48);
  table().im2col(queue_, &window, 5, images, patches);
  table().col2im(queue_, &window, 5, patches, images);
  EXPECT_EQ(images.Read()[0], 5.0f);  // Four windows see a corner.
  table().max_pool(queue_, &pool, 5, images, out);
  EXPECT_EQ(out.Read(), std::vector<float>(5 * 48, 10.0f));
  table().max_pool_backward(queue_, &pool, 5, images, out, images);
}

}  // namespace
}  // namespace motley::conformance
