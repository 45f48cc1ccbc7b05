// SPDX-License-Identifier: Apache-2.0
// Tests both ways to multiply matrices on the same device, although a device uses only one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "devices/opencl/operations/clblast_library.h"
#include "devices/opencl/operations/products.h"
#include "devices/opencl/queue.h"
#include "test_paths.h"

namespace motley::opencl {
namespace {

struct Shape {
  size_t m, n, k;
};

class OpenClProducts : public ::testing::Test {
 protected:
  using Multiply = void (*)(Queue&, const Product&);

  void SetUp() override {
    setenv("POCL_CACHE_DIR", MOTLEY_BINARY_DIR "/tests/pocl_cache", 0);
    std::string reason;
    std::vector<FoundDevice> found = FindDevices(reason);
    std::erase_if(found, [&reason](const FoundDevice& device) {
      if (!device.reason.empty()) reason = device.name + ": " + device.reason;
      return !device.reason.empty();
    });
    if (found.empty()) GTEST_SKIP() << reason;
    auto queue = Queue::Open(found[0], MOTLEY_BINARY_DIR "/tests/device_cache");
    ASSERT_TRUE(queue.ok()) << queue.status().ToString();
    queue_ = std::move(queue).value();
  }

  std::vector<float> Values(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random_.NextDouble() - 0.25);
    return values;
  }
  // The operand starts some values into its memory.
  float* Store(const std::vector<float>& values) {
    auto* data = static_cast<float*>(queue_->memory().Allocate((values.size() + 3) * 4)) + 3;
    EXPECT_EQ(queue_->CopyIn(data, values.data(), values.size() * 4), 0);
    return data;
  }

  // Compares some of the elements with float64.
  void Check(Multiply multiply, const Shape& shape, int transposes, float alpha, float beta) {
    const auto [m, n, k] = shape;
    const bool transpose_a = (transposes & 1) != 0;
    const bool transpose_b = (transposes & 2) != 0;
    auto a = Values(m * k);
    auto b = Values(k * n);
    if (constant_ != 0) {
      std::fill(a.begin(), a.end(), constant_);
      std::fill(b.begin(), b.end(), 1.0f);
    }
    auto c = beta == 0 ? std::vector<float>(m * n, std::numeric_limits<float>::quiet_NaN())
                       : Values(m * n);
    float* const stored[] = {Store(a), Store(b), Store(c)};
    multiply(*queue_, {transpose_a, transpose_b, m, n, k, alpha, queue_->Find(stored[0], m * k),
                       queue_->Find(stored[1], k * n), beta, queue_->Find(stored[2], m * n)});
    std::vector<float> got(m * n);
    std::string error;
    ASSERT_EQ(queue_->CopyOut(got.data(), stored[2], got.size() * 4), 0);
    ASSERT_EQ(queue_->Finish(error), 0) << error;
    for (float* data : stored) queue_->memory().Free(data - 3);
    for (int check = 0; check < 300; ++check) {
      // All corners of the matrix first, then random places.
      const size_t i = check < 4 ? (m - 1) * (check & 1) : random_.Below(m);
      const size_t j = check < 4 ? (n - 1) * (check / 2) : random_.Below(n);
      double want = beta == 0 ? 0 : double{beta} * c[i * n + j];
      double magnitude = std::abs(want);
      for (size_t l = 0; l < k; ++l) {
        const double term = double{alpha} * (transpose_a ? a[l * m + i] : a[i * k + l]) *
                            (transpose_b ? b[j * k + l] : b[l * n + j]);
        want += term;
        magnitude += std::abs(term);
      }
      ASSERT_LE(std::abs(got[i * n + j] - want), 1e-5 * magnitude)
          << "at " << i << ", " << j << " of " << m << " x " << n << " x " << k << ", transposes "
          << transposes;
    }
  }

  // Checks these shapes, and some random ones.
  void CheckAll(Multiply multiply, std::vector<Shape> shapes) {
    for (size_t most = 1; most < 70; most += 4) {
      const size_t m = 1 + random_.Below(most);
      const size_t n = 1 + random_.Below(most);
      shapes.push_back({m, n, 1 + random_.Below(most)});
    }
    constexpr float kScales[][2] = {{1, 0}, {1, 1}, {-0.5f, 2}, {0.25f, 0}};
    for (size_t i = 0; i < shapes.size(); ++i) {
      for (int transposes = 0; transposes < 4 && !HasFailure(); ++transposes) {
        const auto& [alpha, beta] = kScales[(i + transposes) % 4];
        Check(multiply, shapes[i], transposes, alpha, beta);
      }
    }
  }

  std::unique_ptr<Queue> queue_;
  Random random_{3, Stream::kTest};
  float constant_ = 0;  // Every term, unless it is 0.
};

// From about 440 in each direction on, CLBlast packs its factors.
TEST_F(OpenClProducts, ClBlastMatchesReference) {
  if (LoadClBlast() == nullptr) GTEST_SKIP() << "CLBlast is not installed";
  CheckAll(MultiplyWithClBlast,
           {{1, 1, 1}, {5, 6, 7}, {33, 10, 64}, {129, 65, 33}, {20, 30, 3000}, {500, 480, 470}});
}

// Equal terms all round to one side.
TEST_F(OpenClProducts, ClBlastIsPreciseForEqualTerms) {
  if (LoadClBlast() == nullptr) GTEST_SKIP() << "CLBlast is not installed";
  for (const float constant : {0.0137f, 0.5063019f, 0.9871063f}) {
    constant_ = constant;
    for (const size_t k : {512, 1024, 65536}) Check(MultiplyWithClBlast, {4, 3, k}, 0, 1, 0);
  }
}

TEST_F(OpenClProducts, WithoutClBlastMatchReference) {
  CheckAll(MultiplyInGroups,
           {{1, 1, 1}, {5, 6, 7}, {33, 10, 64}, {129, 65, 33}, {20, 30, 3000}, {64, 64, 16}});
  for (const float constant : {0.0137f, 0.5063019f, 0.9871063f}) {
    constant_ = constant;
    for (const size_t k : {512, 1024, 65536}) Check(MultiplyInGroups, {4, 3, k}, 0, 1, 0);
  }
}

TEST_F(OpenClProducts, ProcessorsMatchReferenceBeyondOnePacking) {
  if (queue_->lanes() == 0) GTEST_SKIP() << queue_->device().name << " is not a processor";
  CheckAll(MultiplyOnProcessor, {{1, 1, 1},
                                 {6, 32, 256},
                                 {7, 33, 257},
                                 {8200, 3, 5},
                                 {3, 8200, 5},
                                 {4, 35, 5000},
                                 {300, 200, 150}});
}

}  // namespace
}  // namespace motley::opencl
