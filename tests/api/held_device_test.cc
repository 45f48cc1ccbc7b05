// SPDX-License-Identifier: Apache-2.0
#include "api/workers/held_device.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "devices/cpu/cpu_device.h"
#include "tests/devices/thread_loop.h"

namespace motley {
namespace {

class HeldDeviceTest : public ::testing::Test {
 protected:
  ThreadLoop loop_;
  std::unique_ptr<Device> cpu_ = MakeCpuDevice(loop_, {.threads = 1}).value();
  std::unique_ptr<HeldDevice> held_ = std::make_unique<HeldDevice>(loop_, *cpu_);
};

TEST_F(HeldDeviceTest, WorkNotBegunIsNotRunOnceItIsGone) {
  std::promise<void> go;
  bool ran = false;
  bool done = false;
  bool last = false;
  cpu_->Submit(
      0,
      [&] {
        go.get_future().wait();
        return Status::Ok();
      },
      [](Status) {});
  const auto run = [&ran] {
    ran = true;
    return Status::Ok();
  };
  held_->Submit(0, run, [&done](Status) { done = true; });
  held_.reset();
  go.set_value();
  cpu_->Submit(
      0, [] { return Status::Ok(); }, [&last](Status) { last = true; });
  loop_.RunUntil([&last] { return last; });
  EXPECT_FALSE(ran);
  EXPECT_FALSE(done);
}

TEST_F(HeldDeviceTest, WorkThatRunsIsWaitedFor) {
  std::promise<void> begun;
  std::promise<void> go;
  bool over = false;
  Device& device = *held_;
  const auto run = [&] {
    begun.set_value();
    go.get_future().wait();
    EXPECT_EQ(device.info().threads, 1u);
    over = true;
    return Status::Ok();
  };
  held_->Submit(0, run, [](Status) {});
  begun.get_future().wait();
  const auto helper = std::async(std::launch::async, [&go] { go.set_value(); });
  held_.reset();
  EXPECT_TRUE(over);
}

}  // namespace
}  // namespace motley
