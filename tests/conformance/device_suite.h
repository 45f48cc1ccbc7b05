// SPDX-License-Identifier: Apache-2.0
// The contract of every Device. A test program includes this once and instantiates DeviceSuite with
// a DeviceCase per kind of device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "devices/device.h"

namespace motley::conformance {

// A device and the loop that it reports to.
class DeviceWorld {
 public:
  virtual ~DeviceWorld() = default;
  virtual Device& device() = 0;
  // Runs the loop on the caller's thread until `condition` holds, checked after every task.
  virtual void RunUntil(const std::function<bool()>& condition) = 0;
  // Runs all present tasks of the loop and those that they post, until none is left.
  virtual void RunWhatIsPosted() = 0;
  // Keeps the loop; may be called from a task of the loop.
  virtual void DestroyDevice() = 0;
};

struct DeviceCase {
  std::string name;
  std::function<Result<std::unique_ptr<DeviceWorld>>()> make;
};

inline std::ostream& operator<<(std::ostream& out, const DeviceCase& c) { return out << c.name; }

class DeviceSuite : public ::testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override {
    auto world = GetParam().make();
    ASSERT_TRUE(world.ok()) << world.status().ToString();
    world_ = std::move(world).value();
  }
  Device& device() { return world_->device(); }
  // Submits work and waits for it.
  Status Do(Device::Work work) {
    Status result;
    bool finished = false;
    device().Submit(1, std::move(work), [&](Status status) {
      result = std::move(status);
      finished = true;
    });
    world_->RunUntil([&] { return finished; });
    return result;
  }

  std::unique_ptr<DeviceWorld> world_;
};

TEST_P(DeviceSuite, InfoNamesTheDeviceAndItsThreads) {
  EXPECT_FALSE(device().info().name.empty());
  EXPECT_GE(device().info().threads, 1u);
  EXPECT_GT(device().info().memory_bytes, 0u);
  EXPECT_EQ(device().parallel().threads(), device().info().threads);
}

TEST_P(DeviceSuite, WorkRunsInOrderAndEachDoneOnceOnTheLoopThread) {
  constexpr int kItems = 50;
  std::vector<int> ran, finished;  // `ran` belongs to the device until the last Done.
  const auto loop_thread = std::this_thread::get_id();
  for (int i = 0; i < kItems; ++i) {
    device().Submit(
        i % 3,
        [&ran, i] {
          ran.push_back(i);
          return i % 2 == 0 ? Status::Ok() : Status::DataError("odd");
        },
        [&, i](Status status) {
          EXPECT_EQ(std::this_thread::get_id(), loop_thread);
          EXPECT_EQ(status.code(), i % 2 == 0 ? StatusCode::kOk : StatusCode::kDataError);
          finished.push_back(i);
        });
  }
  EXPECT_TRUE(finished.empty()) << "Done ran inside Submit";
  world_->RunUntil([&] { return finished.size() == kItems; });
  world_->RunWhatIsPosted();
  std::vector<int> want(kItems);
  for (int i = 0; i < kItems; ++i) want[i] = i;
  EXPECT_EQ(ran, want);
  EXPECT_EQ(finished, want);
}

TEST_P(DeviceSuite, TasksPostedByWorkRunOnTheLoopThreadBeforeItsDone) {
  const auto loop_thread = std::this_thread::get_id();
  std::vector<int> order;
  Device& posting = device();
  for (int i = 0; i < 3; ++i) {
    device().Submit(
        1,
        [&, i] {
          for (int part = 0; part < 2; ++part) {
            posting.PostFromWork([&, i, part] {
              EXPECT_EQ(std::this_thread::get_id(), loop_thread);
              order.push_back(10 * i + part);
            });
          }
          return Status::Ok();
        },
        [&, i](Status) { order.push_back(10 * i + 9); });
  }
  world_->RunUntil([&] { return order.size() == 9; });
  EXPECT_EQ(order.size(), 9u);
  for (const int done : {9, 19, 29}) {
    const auto at = std::find(order.begin(), order.end(), done);
    ASSERT_GE(at - order.begin(), 2) << done;
    EXPECT_EQ(std::count(order.begin(), at, done - 9), 1);
    EXPECT_EQ(std::count(order.begin(), at, done - 8), 1);
  }
}

TEST_P(DeviceSuite, TasksPostedByWorkMayDestroyTheDevice) {
  int calls = 0;
  Device& posting = device();  // Destroyed before it; waits for its work.
  device().Submit(
      1,
      [&] {
        for (int i = 0; i < 2; ++i) {
          posting.PostFromWork([&] {
            ++calls;
            world_->DestroyDevice();
          });
        }
        return Status::Ok();
      },
      [&](Status) { ++calls; });
  world_->RunUntil([&] { return calls > 0; });
  world_->RunWhatIsPosted();
  EXPECT_EQ(calls, 1);
}

TEST_P(DeviceSuite, DoneMaySubmitMore) {
  int rounds = 0;
  std::function<void(Status)> again = [&](Status status) {
    EXPECT_TRUE(status.ok());
    if (++rounds < 5)
      device().Submit(
          1, [] { return Status::Ok(); }, again);
  };
  device().Submit(
      1, [] { return Status::Ok(); }, again);
  world_->RunUntil([&] { return rounds == 5; });
}

TEST_P(DeviceSuite, CopiesBringBackWhatWentInAtEveryOffset) {
  auto buffer = device().Allocate(100);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->size_bytes(), 100u);
  Bytes all(100), part(30), got(100);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  for (size_t i = 0; i < part.size(); ++i) part[i] = static_cast<std::byte>(200 - i);
  ASSERT_TRUE(Do([&] {
                MOTLEY_RETURN_IF_ERROR(device().CopyIn(*buffer, 0, all));
                MOTLEY_RETURN_IF_ERROR(device().CopyIn(*buffer, 70, part));
                MOTLEY_RETURN_IF_ERROR(device().CopyIn(*buffer, 100, {}));
                return device().CopyOut(*buffer, 0, got);
              }).ok());
  std::copy(part.begin(), part.end(), all.begin() + 70);
  EXPECT_EQ(got, all);
}

TEST_P(DeviceSuite, CopiesOutsideTheBufferAreRefused) {
  auto buffer = device().Allocate(100);
  ASSERT_TRUE(buffer.ok());
  Bytes bytes(60);
  constexpr size_t kFar = std::numeric_limits<size_t>::max() - 10;
  for (const size_t offset : {size_t{41}, size_t{100}, size_t{101}, kFar}) {
    const Status in = Do([&] { return device().CopyIn(*buffer, offset, bytes); });
    EXPECT_EQ(in.code(), StatusCode::kInvalidArgument) << offset;
    const Status out = Do([&] { return device().CopyOut(*buffer, offset, bytes); });
    EXPECT_EQ(out.code(), StatusCode::kInvalidArgument) << offset;
  }
}

TEST_P(DeviceSuite, BuffersAreAlignedAndMayBeEmptyOrLarge) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65}, size_t{1} << 24}) {
    auto buffer = device().Allocate(size);
    ASSERT_TRUE(buffer.ok()) << buffer.status().ToString();
    EXPECT_EQ(buffer->size_bytes(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    if (size == 0) continue;
    const Bytes last(1, std::byte{7});
    EXPECT_TRUE(Do([&] { return device().CopyIn(*buffer, size - 1, last); }).ok());
  }
}

TEST_P(DeviceSuite, TooLargeABufferIsAResourceError) {
  for (const size_t size : {std::numeric_limits<size_t>::max(), size_t{1} << 62}) {
    const auto buffer = device().Allocate(size);
    ASSERT_FALSE(buffer.ok());
    EXPECT_EQ(buffer.code(), StatusCode::kResource);
  }
}

TEST_P(DeviceSuite, BufferMovesWithItsMemory) {
  Buffer buffer = device().Allocate(8).value();
  void* data = buffer.data();
  Buffer other(std::move(buffer));
  EXPECT_EQ(other.data(), data);
  buffer = device().Allocate(16).value();
  buffer = std::move(other);
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.size_bytes(), 8u);
}

TEST_P(DeviceSuite, KernelsRunInWork) {
  auto x = device().Allocate(3 * sizeof(float)).value();
  std::vector<float> got(3);
  ASSERT_TRUE(Do([&] {
                device().kernels().fill(device().queue(), 3, 2.5f, x.floats());
                device().kernels().scale(device().queue(), 3, 2, x.floats());
                return device().CopyOut(x, 0, std::as_writable_bytes(std::span(got)));
              }).ok());
  EXPECT_EQ(got, std::vector<float>(3, 5.0f));
}

TEST_P(DeviceSuite, AnExceptionInWorkBecomesAStatus) {
  EXPECT_EQ(Do([]() -> Status { throw std::runtime_error("broken"); }).code(),
            StatusCode::kInternal);
  EXPECT_EQ(Do([]() -> Status { throw 7; }).code(), StatusCode::kInternal);
  EXPECT_EQ(Do([]() -> Status { throw std::bad_alloc(); }).code(), StatusCode::kResource);
  EXPECT_TRUE(Do([] { return Status::Ok(); }).ok());
}

TEST_P(DeviceSuite, DestroyingWaitsForWorkAndCallsNoDone) {
  auto finished = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> entered{false}, left{false};
  bool called = false;
  device().Submit(
      1,
      [&] {
        entered = true;
        for (int i = 0; i < 1000; ++i) std::this_thread::yield();
        left = true;
        return Status::Ok();
      },
      [&](Status) { called = true; });
  for (int i = 0; i < 10; ++i) {
    device().Submit(
        1, [finished] { return Status::Ok(); }, [&, finished](Status) { called = true; });
  }
  world_->DestroyDevice();
  EXPECT_EQ(entered, left);
  world_->RunWhatIsPosted();
  EXPECT_FALSE(called);
}

TEST_P(DeviceSuite, DoneMayDestroyTheDevice) {
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    device().Submit(
        1, [] { return Status::Ok(); },
        [&](Status) {
          ++calls;
          world_->DestroyDevice();
        });
  }
  world_->RunUntil([&] { return calls > 0; });
  world_->RunWhatIsPosted();
  EXPECT_EQ(calls, 1);
}

}  // namespace motley::conformance
