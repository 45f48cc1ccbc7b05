// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "devices/cpu/cpu_device.h"
#include "devices/drivers/driver_modules.h"
#include "devices/paced_device.h"
#include "tests/conformance/device_suite.h"
#include "tests/devices/mock_driver.h"
#include "tests/devices/thread_loop.h"

namespace motley {
namespace {

using conformance::DeviceCase;
using conformance::DeviceSuite;
using conformance::DeviceWorld;
using ::testing::HasSubstr;
using MakeInner = std::function<Result<std::unique_ptr<Device>>(Loop&)>;

// A device on a ThreadLoop, with an optional pace.
class HostWorld final : public DeviceWorld {
 public:
  static Result<std::unique_ptr<DeviceWorld>> Create(const MakeInner& make, bool paced) {
    auto world = std::make_unique<HostWorld>();
    MOTLEY_ASSIGN_OR_RETURN(world->inner_, make(world->loop_));
    if (paced) {
      world->paced_ = MakePacedDevice(world->loop_, *world->inner_, {.unit_time = Duration(1000)});
    }
    return std::unique_ptr<DeviceWorld>(std::move(world));
  }
  ~HostWorld() override { HostWorld::DestroyDevice(); }

  Device& device() override { return paced_ ? *paced_ : *inner_; }
  void RunUntil(const std::function<bool()>& condition) override { loop_.RunUntil(condition); }
  void RunWhatIsPosted() override { loop_.RunAll(); }
  void DestroyDevice() override {
    paced_.reset();
    inner_.reset();
  }

 private:
  ThreadLoop loop_;
  std::unique_ptr<Device> inner_;
  std::unique_ptr<PacedDevice> paced_;
};

std::vector<DeviceCase> Cases() {
  const std::pair<std::string, MakeInner> inner[] = {
      {"cpu_1_thread", [](Loop& loop) { return MakeCpuDevice(loop, {.threads = 1}); }},
      {"cpu_tbb", [](Loop& loop) { return MakeCpuDevice(loop, {.threads = 3}); }},
      {"cpu_plain_threads",
       [](Loop& loop) {
         return MakeCpuDevice(loop, {.threads = 2, .kernels = "baseline", .plain_threads = true});
       }},
      {"driver", [](Loop& loop) { return MockDriver::Make(loop); }},
      {"inline", MakeInlineDevice}};
  std::vector<DeviceCase> cases;
  for (const auto& [name, make] : inner) {
    for (const bool paced : {false, true}) {
      cases.push_back({(paced ? "paced_" : "") + name,
                       [make = make, paced] { return HostWorld::Create(make, paced); }});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Host, DeviceSuite, ::testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

TEST(CpuDevice, NamesItsModuleAndThreads) {
  ThreadLoop loop;
  const auto device = MakeCpuDevice(loop, {.threads = 1, .kernels = "baseline"});
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->info().name, "cpu baseline, 1 thread");
  EXPECT_EQ((*device)->queue(), nullptr);
  EXPECT_STREQ((*device)->kernels().name, "baseline");
}

TEST(CpuDevice, TakesTheBestUsableModuleByDefault) {
  ThreadLoop loop;
  const auto device = MakeCpuDevice(loop, {});
  ASSERT_TRUE(device.ok());
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.kernels == nullptr) continue;
    EXPECT_EQ(&(*device)->kernels(), module.kernels);
    break;
  }
}

TEST(CpuDevice, AnUnknownModuleIsRefusedWithThoseThereAre) {
  ThreadLoop loop;
  const auto device = MakeCpuDevice(loop, {.kernels = "avx9000"});
  ASSERT_EQ(device.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(device.status().message(), HasSubstr("'avx9000'"));
  EXPECT_THAT(device.status().message(), HasSubstr("baseline is usable"));
}

TEST(CpuDevice, TooManyThreadsAreRefused) {
  ThreadLoop loop;
  EXPECT_EQ(MakeCpuDevice(loop, {.threads = 1000000}).code(), StatusCode::kInvalidArgument);
}

TEST(CpuDevice, WorkAndWhatItHoldsAreGoneBeforeDone) {
  ThreadLoop loop;
  auto device = MakeCpuDevice(loop, {.threads = 1}).value();
  const auto held = std::make_shared<int>(0);
  long owners = 0;
  device->Submit(
      1, [held] { return Status::Ok(); }, [&](Status) { owners = held.use_count(); });
  loop.RunUntil([&] { return owners > 0; });
  EXPECT_EQ(owners, 1);
}

TEST(InlineDevice, RunsWorkInsideSubmitWithSerialBaselineKernels) {
  VirtualLoop loop;
  auto device = MakeInlineDevice(loop).value();
  EXPECT_STREQ(device->kernels().name, "baseline");
  EXPECT_EQ(device->queue(), nullptr);
  bool ran = false, done = false;
  device->Submit(
      1,
      [&] {
        ran = true;
        return Status::Ok();
      },
      [&](Status) { done = true; });
  EXPECT_TRUE(ran);
  EXPECT_FALSE(done);
  loop.RunUntil([&] { return done; });
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace motley
