// SPDX-License-Identifier: Apache-2.0
// Tests devices over drivers, with a driver that fails on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "devices/drivers/driver_modules.h"
#include "devices/drivers/stuck_devices.h"
#include "devices/watched_device.h"
#include "test_paths.h"
#include "tests/devices/mock_driver.h"
#include "tests/devices/thread_loop.h"

namespace motley {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class DriverDevice : public ::testing::Test {
 protected:
  DriverDevice() { MockDriver::Get().Reset(); }
  Result<std::unique_ptr<Device>> Make(size_t index = 0) { return MockDriver::Make(loop_, index); }
  std::unique_ptr<Device> Open() {
    std::unique_ptr<Device> device = Make().value();
    EXPECT_TRUE(Do(*device, [] { return Status::Ok(); }).ok());
    return device;
  }
  Status Do(Device& device, Device::Work work) {
    std::optional<Status> ended;
    device.Submit(1, std::move(work), [&](Status status) { ended = std::move(status); });
    loop_.RunUntil([&] { return ended.has_value(); });
    return *ended;
  }

  ThreadLoop loop_;
};

TEST_F(DriverDevice, UnusableDevicesHaveAReason) {
  MockDriver::Get().devices = 2;
  EXPECT_THAT(Make(1).status().ToString(), HasSubstr("only the first mock works"));
}

TEST_F(DriverDevice, AFailureToOpenIsTheResultOfTheWork) {
  MockDriver::Get().no_kernels = true;
  const auto device = Make().value();
  const auto fail = [] {
    ADD_FAILURE() << "work ran on a device that is not open";
    return Status::Ok();
  };
  const Status why = Do(*device, fail);
  EXPECT_EQ(why.code(), StatusCode::kUnavailable);
  EXPECT_THAT(why.ToString(), AllOf(HasSubstr("mock 0"), HasSubstr("line 1")));
  MockDriver::Get().no_kernels = false;
  EXPECT_EQ(Do(*device, fail).ToString(), why.ToString()) << "opening is not attempted again";
  EXPECT_FALSE(device->Allocate(1).ok());
  EXPECT_TRUE(device->Rest(std::chrono::hours(1)));
}

TEST_F(DriverDevice, IsOpenFromItsFirstWorkUntilItRests) {
  const auto device = Make().value();
  EXPECT_EQ(MockDriver::Get().open_queues, 0u);
  EXPECT_TRUE(Do(*device, [] { return Status::Ok(); }).ok());
  EXPECT_TRUE(device->Allocate(1).ok());
  EXPECT_EQ(MockDriver::Get().open_queues, 1u);
  EXPECT_TRUE(device->Rest(std::chrono::hours(1)));
  EXPECT_EQ(MockDriver::Get().open_queues, 0u);
  EXPECT_FALSE(device->Allocate(1).ok());
}

// The loop and the watcher go on meanwhile.
TEST_F(DriverDevice, OneWhoseOpeningHangsIsLostAfterAWhileAndSaysSo) {
  auto loop = std::make_unique<ThreadLoop>();
  auto device = MockDriver::Make(*loop).value();
  auto watched = std::make_unique<WatchedDevice>(*loop, *device, Patience());
  MockDriver::Get().open_hangs = true;
  Status reported;
  watched->Submit(
      1, [] { return Status::Ok(); }, [&](const Status& status) { reported = status; });
  MockDriver::Get().opens.wait(0);
  loop->RunUntil([&] { return !reported.ok(); });
  EXPECT_TRUE(watched->lost());
  EXPECT_THAT(reported.message(), HasSubstr("may not even be open"));
  EXPECT_FALSE(device->Rest(Duration::zero()));
  device->Abandon();
  watched.reset();
  loop.reset();
  KeepForever(std::shared_ptr<Device>(std::move(device)));
  MockDriver::Get().open_hangs = false;
  MockDriver::Get().open_hangs.notify_all();
  // The thread goes on at some time, opens the queue for good, and then needs the kernels' table.
  while (MockDriver::Get().finishes == 0) std::this_thread::yield();
  MockDriver::Get().open_queues = 0;
}

TEST_F(DriverDevice, OneWhoseClosingHangsDoesNotRest) {
  auto loop = std::make_unique<ThreadLoop>();
  auto device = MockDriver::Make(*loop).value();
  bool done = false;
  device->Submit(
      1, [] { return Status::Ok(); }, [&](const Status&) { done = true; });
  loop->RunUntil([&] { return done; });
  MockDriver::Get().close_hangs = true;
  EXPECT_FALSE(device->Rest(std::chrono::milliseconds(1)));
  device->Abandon();
  loop.reset();
  KeepForever(std::shared_ptr<Device>(std::move(device)));
  MockDriver::Get().close_hangs = false;
  MockDriver::Get().close_hangs.notify_all();
  while (MockDriver::Get().open_queues != 0) std::this_thread::yield();
}

TEST_F(DriverDevice, KernelsOfAnotherVersionAreRefusedBeforeAnyIsCalled) {
  MockDriver::Get().old_kernels = true;
  const auto device = Make().value();
  const Status old = Do(*device, [] {
    ADD_FAILURE() << "work ran on a device that is not open";
    return Status::Ok();
  });
  EXPECT_EQ(old.code(), StatusCode::kUnavailable);
  EXPECT_THAT(old.ToString(), AllOf(HasSubstr("mock 0"), HasSubstr("rebuild the driver")));
  EXPECT_EQ(MockDriver::Get().open_queues, 0u);
}

// For example two jobs of one program.
TEST_F(DriverDevice, ThreadsTakeTurnsToLookForDevicesAndOpenThoseThatTheyFound) {
  MockDriver& mock = MockDriver::Get();
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([] {
      for (int look = 0; look < 100; ++look) {
        ThreadLoop loop;
        const auto device = MockDriver::Make(loop).value();
        ASSERT_TRUE(device->Allocate(1).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(mock.looked_at_once);
}

TEST_F(DriverDevice, KernelFailuresAreReportedWithTheWorkAndCleared) {
  const auto device = Open();
  const auto fail_with = [](int code) {
    return [code] {
      MockDriver::Get().fails = code;
      return Status::Ok();
    };
  };
  const Status lost = Do(*device, fail_with(MOTLEY_DRIVER_LOST));
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
  EXPECT_THAT(lost.ToString(), HasSubstr("the mock fell off"));
  EXPECT_EQ(Do(*device, fail_with(MOTLEY_DRIVER_NO_MEMORY)).code(), StatusCode::kResource);
  EXPECT_TRUE(Do(*device, [] { return Status::Ok(); }).ok());
}

TEST_F(DriverDevice, ALostDeviceIsReportedWhateverTheWorkReturns) {
  const auto device = Open();
  for (const Status& of_work : {Status::Resource("no memory"), Status::Cancelled("not wanted")}) {
    const Status status = Do(*device, [&] {
      MockDriver::Get().fails = MOTLEY_DRIVER_LOST;
      return of_work;
    });
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(status.ToString(),
                AllOf(HasSubstr("the mock fell off"), HasSubstr(std::string(of_work.message()))));
    EXPECT_EQ(Do(*device, [&] { return of_work; }).code(), of_work.code());
  }
}

TEST_F(DriverDevice, ACopyThatFailsEndsTheWork) {
  const auto device = Open();
  const Buffer buffer = device->Allocate(8).value();
  const Status status = Do(*device, [&] {
    MockDriver::Get().fails = MOTLEY_DRIVER_LOST;
    Bytes out(8);
    return device->CopyOut(buffer, 0, out);
  });
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
}

TEST_F(DriverDevice, TooMuchMemoryIsRefusedAndTheDeviceGoesOn) {
  MockDriver::Get().memory_bytes = 1000;
  const auto device = Open();
  EXPECT_EQ(device->Allocate(1001).code(), StatusCode::kResource);
  EXPECT_TRUE(device->Allocate(1000).ok());
}

TEST_F(DriverDevice, MemoryMayOutliveTheDevice) {
  auto device = Open();
  std::optional<Buffer> buffer = device->Allocate(100).value();
  device.reset();
  EXPECT_EQ(MockDriver::Get().open_queues, 1u);
  buffer.reset();
  EXPECT_EQ(MockDriver::Get().open_queues, 0u);
}

TEST_F(DriverDevice, OneThatHangsCanBeAbandonedAndNothingIsReported) {
  // As after a job: the device stays, the loop is destroyed.
  auto loop = std::make_unique<ThreadLoop>();
  auto device = MockDriver::Make(*loop).value();
  MockDriver::Get().hangs = true;
  bool reported = false;
  std::atomic<bool> begun = false;
  device->Submit(
      1,
      [&] {
        begun = true;
        begun.notify_all();
        return Status::Ok();
      },
      [&](const Status&) { reported = true; });
  begun.wait(false);
  EXPECT_FALSE(device->Rest(std::chrono::milliseconds(1)));
  device->Abandon();
  loop->RunAll();
  loop.reset();
  KeepForever(std::shared_ptr<Device>(std::move(device)));
  EXPECT_TRUE(AnyDeviceStuck());
  MockDriver::Get().hangs = false;
  MockDriver::Get().hangs.notify_all();
  EXPECT_FALSE(reported);
  // The device keeps its queue for good.
  MockDriver::Get().open_queues = 0;
}

TEST_F(DriverDevice, OneThatIsSlowComesToRest) {
  const auto device = Open();
  MockDriver::Get().hangs = true;
  std::atomic<bool> begun = false;
  device->Submit(
      1,
      [&] {
        begun = true;
        begun.notify_all();
        return Status::Ok();
      },
      [](const Status&) {});
  begun.wait(false);
  MockDriver::Get().hangs = false;
  MockDriver::Get().hangs.notify_all();
  EXPECT_TRUE(device->Rest(std::chrono::hours(1)));
}

class DriverModules : public ::testing::Test {
 protected:
  DriverModules() {
    std::string pattern = (fs::temp_directory_path() / "motley_drivers_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~DriverModules() override { fs::remove_all(folder_); }
  std::string ReasonOf(const std::string& name) const {
    const DriverModule module = LoadDriverModule(name, {folder_.string()});
    EXPECT_EQ(module.name, name);
    return module.driver == nullptr ? module.reason : "";
  }
  fs::path folder_;
};

TEST_F(DriverModules, AbsentOnesAreNotBroken) {
  for (const char* name : {"cuda", "opencl"}) {
    EXPECT_THAT(ReasonOf(name), AllOf(HasSubstr("no such driver"), HasSubstr(folder_.string())));
  }
}

TEST_F(DriverModules, FilesThatAreNoDriversAreRefused) {
  std::ofstream(folder_ / "motley-opencl.so") << "not a library";
  fs::copy_file(fs::path(MOTLEY_BINARY_DIR) / "modules/motley-cpu-baseline.so",
                folder_ / "motley-cuda.so");
  EXPECT_THAT(ReasonOf("opencl"), HasSubstr("cannot load"));
  EXPECT_THAT(ReasonOf("cuda"), HasSubstr("not a driver of version"));
}

}  // namespace
}  // namespace motley
