// SPDX-License-Identifier: Apache-2.0
// Runs models on a device with kernels or copies that run as late as possible. Work that does not
// wait for what it needs then computes wrong numbers.
#include "devices/drivers/driver_modules.h"
#include "tests/devices/cuda/fake_cuda.h"
#include "tests/training/session_checks.h"
#include "training/models/device_memory.h"
#include "training/trainers/term_work.h"

extern "C" const motley_driver* motley_driver_get(uint32_t version);

namespace motley {
namespace {

void ExpectNoSumChanges(bool hasty) {
  conformance::FakeCuda& fake = conformance::FakeCuda::Get();
  fake.Reset();
  fake.hasty = hasty;  // The kernels' stream is made first.
  TestRig rig;
  const motley_driver& driver = *motley_driver_get(MOTLEY_DRIVER_VERSION);
  std::string reason;
  const auto found = FindDriverDevices(driver, reason);
  ASSERT_EQ(found.size(), 2U) << reason;
  {
    auto device = MakeDriverDevice(rig.loop, driver, found[0], "");
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    Random random(5, Stream::kTest);
    ExpectTheSumsOfTheHost(*rig.device, **device, random);
  }
  fake.Reset();
}

TEST(LateSession, KernelsThatRunLateChangeNoSum) { ExpectNoSumChanges(false); }
TEST(LateSession, CopiesThatRunLateChangeNoSum) { ExpectNoSumChanges(true); }

// 1,024 rows take some 70 MB, and another program may hold most of the device's memory.
TEST(LateSession, BatchesAreAsLargeAsThereIsMemoryLeft) {
  conformance::FakeCuda& fake = conformance::FakeCuda::Get();
  fake.Reset();
  TestRig rig;
  const motley_driver& driver = *motley_driver_get(MOTLEY_DRIVER_VERSION);
  std::string reason;
  const auto model = MakeModel({"softmax", 4000, 3});
  const auto rows_where_others_have = [&](size_t bytes) {
    fake.devices[0].used_bytes = bytes;
    const auto device =
        MakeDriverDevice(rig.loop, driver, FindDriverDevices(driver, reason).at(0), "").value();
    EXPECT_TRUE(device->Allocate(1).ok()) << "this opens the device";
    return RowsWithRoom(*device, *model);
  };
  EXPECT_EQ(rows_where_others_have(0), 1024U);
  const size_t few = rows_where_others_have(fake.devices[0].memory_bytes - (size_t{105} << 20));
  EXPECT_LT(few, 128U);
  EXPECT_GE(few, 16U);
  fake.Reset();
}

Dataset Samples(size_t rows, float value) {
  Dataset samples;
  samples.features = 1;
  samples.dense.assign(rows, value);
  samples.label.assign(rows, value);
  return samples;
}

// The marks that a batch waits for do not cover earlier users of its memory.
TEST(LateSession, SamplesInMemoryThatIsNewWaitForThoseWhoStillUseIt) {
  conformance::FakeCuda& fake = conformance::FakeCuda::Get();
  fake.Reset();
  TestRig rig;
  const motley_driver& driver = *motley_driver_get(MOTLEY_DRIVER_VERSION);
  std::string reason;
  {
    const auto device =
        MakeDriverDevice(rig.loop, driver, FindDriverDevices(driver, reason).at(0), "").value();
    constexpr size_t kCount = 1024;
    BatchMemory batches(*device);
    DeviceMemory workspace(*device);
    const Buffer sum = device->Allocate(kCount * sizeof(float)).value();  // Opens the device.
    const motley_kernels& kernels = device->kernels();
    float* const values = workspace.Floats(0, kCount).value();
    const Dataset one = Samples(1, 5), many = Samples(kCount, 7);
    ASSERT_TRUE(batches.Place(one).ok());
    kernels.fill(device->queue(), kCount, 3, values);
    kernels.fill(device->queue(), kCount, 0, sum.floats());
    batches.Used();
    kernels.axpy(device->queue(), kCount, 1, values, sum.floats());
    ASSERT_TRUE(workspace.Floats(0, 2 * kCount).ok());
    const auto placed = batches.Place(many);
    ASSERT_TRUE(placed.ok());
    ASSERT_EQ(placed->label, values) << "its memory was freed with the workspace's old piece";
    std::vector<float> got(kCount);
    ASSERT_TRUE(device->CopyOut(sum, 0, std::as_writable_bytes(std::span(got))).ok());
    EXPECT_EQ(got, std::vector<float>(kCount, 3));
  }
  fake.Reset();
}

}  // namespace
}  // namespace motley
