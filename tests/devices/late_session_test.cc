// SPDX-License-Identifier: Apache-2.0
// Models on a device whose kernels or copies run as late as they may: what does not wait for what
// it needs computes with the wrong numbers.
#include "devices/driver_modules.h"
#include "tests/devices/fake_cuda.h"
#include "tests/training/session_checks.h"

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

}  // namespace
}  // namespace motley
