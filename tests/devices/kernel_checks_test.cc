// SPDX-License-Identifier: Apache-2.0
// Tests that the checks cover all kernels, and that each check can fail.
#include "devices/check/kernel_checks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <utility>

#include "devices/check/device_check.h"
#include "devices/cpu/cpu_device.h"
#include "devices/drivers/driver_modules.h"
#include "tests/conformance/kernel_rig.h"
#include "tests/devices/mock_driver.h"
#include "tests/devices/thread_loop.h"

namespace motley::check {
namespace {

#define SPOILT(kernel)                                                     \
  {                                                                        \
#kernel, [](motley_kernels & table) { table.kernel = [](auto...) {}; } \
  }
constexpr std::pair<std::string_view, void (*)(motley_kernels&)> kSpoilt[] = {
    SPOILT(gemm),
    SPOILT(csr_times_dense),
    SPOILT(csr_transposed_times_dense),
    SPOILT(add_bias),
    SPOILT(add_column_sums),
    SPOILT(add_row_sums),
    SPOILT(scale_rows),
    SPOILT(relu),
    SPOILT(relu_backward),
    SPOILT(dropout),
    SPOILT(im2col),
    SPOILT(col2im),
    SPOILT(max_pool),
    SPOILT(max_pool_backward),
    SPOILT(layer_norm),
    SPOILT(layer_norm_backward),
    SPOILT(softmax_cross_entropy),
    SPOILT(logistic_loss),
    SPOILT(hinge_loss),
    SPOILT(squared_loss),
    SPOILT(axpy),
    SPOILT(multiply),
    SPOILT(fill),
    SPOILT(scale),
    SPOILT(scale_pairs),
    SPOILT(widen),
    SPOILT(sum_of_squares),
    SPOILT(sketch),
    SPOILT(sgd),
    SPOILT(momentum),
    SPOILT(adam),
};
#undef SPOILT

// All entries after the table's name are kernels.
constexpr size_t kKernels =
    (sizeof(motley_kernels) - offsetof(motley_kernels, gemm)) / sizeof(void (*)());
static_assert(std::size(kSpoilt) == kKernels, "a kernel without a check: see devices/check");

const motley_kernels& Baseline() {
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.name == "baseline") return *module.kernels;
  }
  MOTLEY_ASSERT(false);
}

TEST(KernelChecks, AKernelThatDoesNothingFailsItsOwnChecksAndNoOther) {
  std::set<std::string_view> checked;
  for (const KernelCheck& check : KernelChecks()) checked.insert(check.kernel);
  for (const auto& [name, spoil] : kSpoilt) {
    EXPECT_TRUE(checked.contains(name)) << name;
    motley_kernels table = Baseline();
    spoil(table);
    conformance::HostRig rig(table, nullptr);
    for (const KernelCheck& check : KernelChecks()) {
      const CheckedKernel result = RunCheck(check, rig, 3, /*large=*/false);
      EXPECT_EQ(result.ok(), check.kernel != name) << result.kernel << " without " << name;
      EXPECT_EQ(result.where.empty(), result.worst == 0);
    }
  }
}

TEST(KernelChecks, OneWrongValueInManyIsFoundAndSaidWhere) {
  motley_kernels table = Baseline();
  table.fill = [](void* queue, size_t count, float value, float* x) {
    Baseline().fill(queue, count, value, x);
    if (count > 100000) x[77777] += 0.01f;
  };
  conformance::HostRig rig(table, nullptr);
  for (const KernelCheck& check : KernelChecks()) {
    if (check.kernel != "fill") continue;
    const CheckedKernel result = RunCheck(check, rig, 3, /*large=*/false);
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.where, "100001 values");
  }
}

TEST(KernelChecks, OneThatComparesNothingIsNotPassed) {
  conformance::HostRig rig(Baseline(), nullptr);
  const CheckedKernel result = RunCheck({"nothing", "", 1, [](CheckRun&) {}}, rig, 3, false);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.where, "nothing was compared");
}

TEST(KernelChecks, DevicesThatFailSaySo) {
  MockDriver::Get().Reset();
  ThreadLoop loop;
  const auto device = MockDriver::Make(loop).value();
  const auto run = [&] {
    std::optional<Status> ended;
    size_t reported = 0;
    device->Submit(
        1,
        [&] {
          return CheckDevice(*device, 3, /*large=*/false, [&](const CheckedKernel& kernel) {
            EXPECT_TRUE(kernel.ok()) << kernel.kernel;
            ++reported;
          });
        },
        [&](Status status) { ended = std::move(status); });
    loop.RunUntil([&] { return ended.has_value(); });
    return std::pair(*ended, reported);
  };
  const auto [fine, all] = run();
  EXPECT_TRUE(fine.ok()) << fine.ToString();
  EXPECT_EQ(all, KernelChecks().size());
  MockDriver::Get().memory_bytes = 1000;
  const auto [full, few] = run();
  EXPECT_EQ(full.code(), StatusCode::kResource);
  EXPECT_LT(few, KernelChecks().size());
  MockDriver::Get().memory_bytes = 1ull << 32;
}

}  // namespace
}  // namespace motley::check
