// SPDX-License-Identifier: Apache-2.0
// The contract of every kernel table: results within tolerance (devices/check), and properties that
// a tolerance cannot express. A test program includes this once and instantiates KernelsSuite with
// a KernelsCase per driver and queue.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "devices/check/kernel_checks.h"
#include "tests/conformance/kernel_rig.h"

namespace motley::conformance {

struct KernelsCase {
  std::string name;
  std::string why_not;  // Why the driver cannot be used here; empty if it can.
  std::function<std::unique_ptr<KernelRig>()> make;
  bool large = false;  // Also use shapes of more than one launch; takes some seconds of a core.
};

inline std::ostream& operator<<(std::ostream& out, const KernelsCase& c) { return out << c.name; }

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class KernelsSuite : public ::testing::TestWithParam<KernelsCase> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().why_not;
    rig_ = GetParam().make();
    queue_ = rig_->queue();
  }
  const motley_kernels& table() const { return rig_->table(); }
  Operand<float> Store(const std::vector<float>& values) { return {*rig_, values}; }
  std::vector<float> Values(size_t count, double low = -1, double high = 1) {
    return RandomValues(random_, count, low, high);
  }

  std::unique_ptr<KernelRig> rig_;
  void* queue_ = nullptr;
  Random random_{11, Stream::kTest};
};

TEST_P(KernelsSuite, TableSpeaksThisVersion) {
  EXPECT_EQ(table().version, unsigned{MOTLEY_KERNELS_VERSION});
  EXPECT_GE(table().struct_size, sizeof(motley_kernels));
  EXPECT_FALSE(std::string(table().name).empty());
}

TEST_P(KernelsSuite, EveryKernelIsWithinItsToleranceOfFloat64) {
  uint64_t seed = 11;
  for (const check::KernelCheck& each : check::KernelChecks()) {
    // A small device has no room for all shapes at once.
    if (GetParam().large) rig_ = GetParam().make();
    const check::CheckedKernel checked = check::RunCheck(each, *rig_, ++seed, GetParam().large);
    EXPECT_LE(checked.worst, checked.tolerance) << checked.kernel << " at " << checked.where;
  }
}

TEST_P(KernelsSuite, SparseGradientKeepsItsPrecisionWhenAColumnIsInEveryRow) {
  constexpr size_t kRows = 50000;
  HostCsr host{kRows, 1, {0}, std::vector<uint32_t>(kRows, 0), std::vector<float>(kRows, 1.0f)};
  for (size_t row = 0; row < kRows; ++row) host.row_begin.push_back(row + 1);
  const DeviceCsr csr(*rig_, host);
  const auto b = Store(std::vector<float>(kRows, 0.3f));
  const auto c = Store({0.0f});
  table().csr_transposed_times_dense(queue_, &csr.view, 1, 1, b, c);
  EXPECT_NEAR(c.Read()[0], double{0.3f} * kRows, 1e-6 * 0.3 * kRows);
}

TEST_P(KernelsSuite, SparseGradientTouchesOnlyColumnsThatHaveEntries) {
  const HostCsr host{2, 4, {0, 1, 2}, {1, 1}, {2.0f, 3.0f}};
  const DeviceCsr csr(*rig_, host);
  const auto b = Store({1.0f, 1.0f});
  const auto c = Store({-0.0f, 1.0f, kNan, -0.0f});
  table().csr_transposed_times_dense(queue_, &csr.view, 1, 1, b, c);
  const auto got = c.Read();
  EXPECT_TRUE(std::signbit(got[0]) && std::signbit(got[3]) && std::isnan(got[2]));
  EXPECT_EQ(got[1], 6.0f);
}

}  // namespace motley::conformance
