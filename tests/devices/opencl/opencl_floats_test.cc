// SPDX-License-Identifier: Apache-2.0
// Tests the OpenCL kernels as compiled for devices without double precision, with sums in pairs of
// floats (devices/opencl/kernels/wide.cl), on the devices of this machine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "devices/opencl/operations/operations.h"
#include "devices/opencl/queue.h"
#include "test_paths.h"
#include "tests/conformance/kernels_suite.h"
#include "tests/conformance/layer_kernels_suite.h"
#include "tests/conformance/pointwise_kernels_suite.h"

namespace motley::opencl {

// The driver's kernel table, without the driver.
const motley_kernels& Table() {
  static const motley_kernels table{.version = MOTLEY_KERNELS_VERSION,
                                    .struct_size = sizeof(motley_kernels),
                                    .name = "opencl without doubles",
                                    MOTLEY_FOR_EACH_KERNEL(MOTLEY_KERNEL_ENTRY)};
  return table;
}

}  // namespace motley::opencl

namespace motley::conformance {
namespace {

using opencl::FoundDevice;

// The first usable device, treated as if it had no doubles, or the reason why there is none.
struct Found {
  FoundDevice device;
  std::string why_not;
};
Found FindWithoutDoubles() {
  setenv("POCL_CACHE_DIR", MOTLEY_BINARY_DIR "/tests/pocl_cache", 0);
  std::string reason;
  for (FoundDevice device : opencl::FindDevices(reason)) {
    device.has_doubles = false;
    if (device.reason.empty()) return {device, ""};
    reason = device.name + ": " + device.reason;
  }
  return {{}, reason};
}

class FloatsRig final : public KernelRig {
 public:
  explicit FloatsRig(const FoundDevice& device) {
    auto queue = opencl::Queue::Open(device, MOTLEY_BINARY_DIR "/tests/device_cache");
    if (!queue.ok()) ADD_FAILURE() << queue.status().ToString();
    queue_ = std::move(queue).value();
  }
  ~FloatsRig() override {
    std::string error;
    EXPECT_EQ(queue_->Finish(error), MOTLEY_DRIVER_OK) << error;
    for (void* memory : memory_) queue_->memory().Free(memory);
  }
  const motley_kernels& table() const override { return opencl::Table(); }
  void* queue() const override { return queue_.get(); }
  void* Store(const void* bytes, size_t size_bytes) override {
    constexpr size_t kOffset = 8;
    void* const block = queue_->memory().Allocate(kOffset + size_bytes);
    MOTLEY_ASSERT(block != nullptr);
    memory_.push_back(block);
    void* const data = static_cast<std::byte*>(block) + kOffset;
    EXPECT_EQ(queue_->CopyIn(data, bytes, size_bytes), MOTLEY_DRIVER_OK);
    return data;
  }
  void Load(const void* stored, void* bytes, size_t size_bytes) const override {
    if (size_bytes > 0) {
      EXPECT_EQ(queue_->CopyOut(bytes, stored, size_bytes), MOTLEY_DRIVER_OK);
    }
  }

 private:
  std::unique_ptr<opencl::Queue> queue_;
  std::vector<void*> memory_;
};

std::vector<KernelsCase> Cases() {
  const Found found = FindWithoutDoubles();
  return {{"pairs_of_floats", found.why_not,
           [device = found.device] { return std::make_unique<FloatsRig>(device); },
           /*large=*/true}};
}

INSTANTIATE_TEST_SUITE_P(OpenClFloats, KernelsSuite, ::testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

class OpenClFloats : public ::testing::Test {
 protected:
  void SetUp() override {
    const Found found = FindWithoutDoubles();
    if (!found.why_not.empty()) GTEST_SKIP() << found.why_not;
    rig_ = std::make_unique<FloatsRig>(found.device);
  }
  // `value` plus the sum of squares of `x`, added on the device.
  double AddedLoss(double value, float x) {
    const Operand<double> loss(*rig_, {value});
    rig_->table().squared_loss(rig_->queue(), 1, Operand<float>(*rig_, {0.0f}),
                               Operand<float>(*rig_, {x}), loss);
    return loss.Read()[0];
  }

  std::unique_ptr<FloatsRig> rig_;
};

// The device splits and assembles a double's bits with integers.
TEST_F(OpenClFloats, DoublesInMemoryAreReadAndWritten) {
  for (const double value : {0.0, 1.0, -1.0, 100.0, 1 + 0x1p-40, -3 - 0x1p-44, 0x1.123456789p-90,
                             -0x1.123456789p99, 0x1.fffffffffff8p10, 4096 - 0x1p-30}) {
    EXPECT_EQ(AddedLoss(value, 0), value);
  }
  EXPECT_EQ(AddedLoss(0x1p20, 0x1p-9f), 0x1p20 + 0x1p-19);
  EXPECT_EQ(AddedLoss(-1, 2), 1);
  EXPECT_TRUE(std::isnan(AddedLoss(kNan, 1)));
  EXPECT_FALSE(std::isfinite(AddedLoss(HUGE_VAL, 1)));
}

// In a sum of 4 million equal terms, a float's last bits would be lost long before the end.
TEST_F(OpenClFloats, LongSumsKeepTwelveDigits) {
  constexpr size_t kCount = size_t{1} << 22;
  const Operand<double> sum(*rig_, {0.0});
  const Operand<float> x(*rig_, std::vector<float>(kCount, 0.1f));
  rig_->table().sum_of_squares(rig_->queue(), kCount, x, sum);
  const double want = double{0.1f} * 0.1f * kCount;
  EXPECT_NEAR(sum.Read()[0], want, 1e-12 * want);
}

TEST_F(OpenClFloats, LabelsThatAreNoClassTouchNothingElse) {
  for (const size_t columns : {3, 100}) {
    const Operand<float> x(*rig_, std::vector<float>(4 * columns, 0.0f));
    const Operand<float> labels(*rig_, {-1.0f, static_cast<float>(columns), 1e30f, kNan});
    const Operand<double> loss(*rig_, {0.0});
    rig_->table().softmax_cross_entropy(rig_->queue(), 4, columns, labels, nullptr, x, loss);
    for (const float value : x.Read()) {
      EXPECT_FLOAT_EQ(value, 1.0f / static_cast<float>(columns));
    }
  }
}

}  // namespace
}  // namespace motley::conformance
