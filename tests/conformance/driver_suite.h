// SPDX-License-Identifier: Apache-2.0
// The contract of every driver that is loaded at run time, except its kernels
// (devices/drivers/driver.h). A test program includes this once and instantiates DriverSuite with
// the DriverCases of its driver.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/device_kind.h"
#include "tests/conformance/driver_rig.h"

namespace motley::conformance {

// Memory of a queue, freed by the destructor.
class Held {
 public:
  Held(const DriverQueue& queue, size_t size_bytes)
      : queue_(queue), memory_(queue.driver().allocate(queue.get(), size_bytes)) {}
  Held(const Held&) = delete;
  ~Held() { queue_.driver().free(queue_.get(), memory_); }

  std::byte* data(size_t offset = 0) const { return static_cast<std::byte*>(memory_) + offset; }
  float* floats() const { return static_cast<float*>(memory_); }
  bool ok() const { return memory_ != nullptr; }

 private:
  const DriverQueue& queue_;
  void* const memory_;
};

class DriverSuite : public ::testing::TestWithParam<DriverCase> {
 protected:
  void SetUp() override {
    if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().why_not;
  }

  static int In(const DriverQueue& queue, void* to, const void* from, size_t size_bytes) {
    return DriverQueue::In(queue.driver(), queue.get(), to, from, size_bytes);
  }
  static int Out(const DriverQueue& queue, void* to, const void* from, size_t size_bytes) {
    return DriverQueue::Out(queue.driver(), queue.get(), to, from, size_bytes);
  }
  // Bytes that differ by place and seed.
  static std::vector<std::byte> Bytes(size_t count, uint64_t seed) {
    Random random(seed, Stream::kTest);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
    return bytes;
  }
};

TEST_P(DriverSuite, DescribesItsDevice) {
  motley_driver_device device{};
  GetParam().driver->describe(GetParam().device, &device);
  EXPECT_STRNE(device.name, "");
  EXPECT_STRNE(device.platform, "");
  EXPECT_GT(device.memory_bytes, 0U);
  EXPECT_GT(device.units, 0U);
  EXPECT_EQ(NameOf(static_cast<DeviceKind>(device.kind)), GetParam().driver->name);
}

TEST_P(DriverSuite, CopiesOfAnySizeAndPlaceComeBackWhole) {
  const DriverQueue queue(GetParam());
  constexpr size_t kLargest = (size_t{13} << 20) + 5, kBefore = 3;
  const Held held(queue, kLargest + 2 * kBefore);
  ASSERT_TRUE(held.ok());
  for (const size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, (size_t{1} << 20) + 1,
                            (size_t{4} << 20) - 1, size_t{6} << 20, kLargest}) {
    auto around = Bytes(size + 2 * kBefore, 1);
    const auto inside = Bytes(size, 2);
    ASSERT_EQ(In(queue, held.data(), around.data(), around.size()), MOTLEY_DRIVER_OK);
    ASSERT_EQ(In(queue, held.data(kBefore), inside.data(), size), MOTLEY_DRIVER_OK);
    std::copy(inside.begin(), inside.end(), around.begin() + kBefore);
    std::vector<std::byte> got(size + 2 * kBefore);
    ASSERT_EQ(Out(queue, got.data(), held.data(), got.size()), MOTLEY_DRIVER_OK);
    ASSERT_TRUE(got == around) << size;
  }
}

TEST_P(DriverSuite, CopiedInMemoryMayChangeAtOnce) {
  const DriverQueue queue(GetParam());
  constexpr size_t kSize = size_t{5} << 20, kTimes = 8;
  const Held held(queue, kTimes * kSize);
  ASSERT_TRUE(held.ok());
  std::vector<std::byte> from(kSize);
  for (size_t i = 0; i < kTimes; ++i) {
    std::fill(from.begin(), from.end(), static_cast<std::byte>(i + 1));
    ASSERT_EQ(In(queue, held.data(i * kSize), from.data(), kSize), MOTLEY_DRIVER_OK);
  }
  std::fill(from.begin(), from.end(), std::byte{99});
  std::vector<std::byte> got(kSize);
  for (size_t i = 0; i < kTimes; ++i) {
    ASSERT_EQ(Out(queue, got.data(), held.data(i * kSize), kSize), MOTLEY_DRIVER_OK);
    EXPECT_EQ(std::count(got.begin(), got.end(), static_cast<std::byte>(i + 1)), kSize);
  }
}

TEST_P(DriverSuite, KernelsAndCopiesRunInTheOrderCalled) {
  const DriverQueue queue(GetParam());
  constexpr size_t kCount = size_t{1} << 20;
  const Held x(queue, kCount * sizeof(float));
  ASSERT_TRUE(x.ok());
  const motley_kernels& kernels = queue.kernels();
  const std::vector<float> ones(kCount, 1.0f);
  std::vector<float> got(kCount);
  for (int round = 0; round < 20; ++round) {
    kernels.fill(queue.get(), kCount, 5, x.floats());
    ASSERT_EQ(In(queue, x.data(), ones.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
    for (int i = 0; i < 3; ++i) kernels.scale(queue.get(), kCount, 2, x.floats());
    ASSERT_EQ(Out(queue, got.data(), x.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
    ASSERT_EQ(std::count(got.begin(), got.end(), 8.0f), kCount) << round;
  }
}

// Two halves of a buffer are used in turn, as batches do. A copy into one half need not wait for
// kernels that use the other half. Kernels must wait for the copy, and the copy for kernels that
// used its half.
TEST_P(DriverSuite, CopiesBesideKernelsKeepTheOrderThatMarksSay) {
  const DriverQueue queue(GetParam());
  constexpr size_t kCount = size_t{1} << 16, kRounds = 150;  // More rounds than kept marks.
  const Held halves(queue, 2 * kCount * sizeof(float));
  const Held sum(queue, kCount * sizeof(float));
  ASSERT_TRUE(halves.ok() && sum.ok());
  const motley_kernels& kernels = queue.kernels();
  kernels.fill(queue.get(), kCount, 0, sum.floats());
  uint64_t used[2] = {queue.driver().mark(queue.get()), 0};
  used[1] = used[0];
  std::vector<float> values(kCount);
  float want = 0;
  for (size_t round = 0; round < kRounds; ++round) {
    std::fill(values.begin(), values.end(), static_cast<float>(round + 1));
    float* const half = halves.floats() + round % 2 * kCount;
    ASSERT_EQ(queue.driver().copy_in(queue.get(), used[round % 2], half, values.data(),
                                     kCount * sizeof(float)),
              MOTLEY_DRIVER_OK);
    for (int i = 0; i < 3; ++i) kernels.axpy(queue.get(), kCount, 1, half, sum.floats());
    used[round % 2] = queue.driver().mark(queue.get());
    want += 3 * static_cast<float>(round + 1);
  }
  const uint64_t summed = used[(kRounds - 1) % 2];
  kernels.fill(queue.get(), 2 * kCount, -1, halves.floats());
  ASSERT_EQ(DriverQueue::Out(queue.driver(), queue.get(), values.data(), sum.data(),
                             kCount * sizeof(float), summed),
            MOTLEY_DRIVER_OK);
  EXPECT_EQ(std::count(values.begin(), values.end(), want), kCount);
  ASSERT_EQ(Out(queue, values.data(), halves.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(std::count(values.begin(), values.end(), -1.0f), kCount);
}

TEST_P(DriverSuite, PiecesThatAreHandedOverComeInOrderAndWhole) {
  const DriverQueue queue(GetParam());
  const auto bytes = Bytes((size_t{9} << 20) + 7, 3);
  const Held held(queue, bytes.size());
  ASSERT_EQ(In(queue, held.data(), bytes.data(), bytes.size()), MOTLEY_DRIVER_OK);
  std::vector<std::byte> got;
  const auto take = [](void* context, size_t offset, const void* piece, size_t size) {
    auto& to = *static_cast<std::vector<std::byte>*>(context);
    EXPECT_EQ(offset, to.size());
    to.insert(to.end(), static_cast<const std::byte*>(piece),
              static_cast<const std::byte*>(piece) + size);
  };
  ASSERT_EQ(queue.driver().copy_out(queue.get(), MOTLEY_DRIVER_NOW, held.data(), bytes.size(), take,
                                    &got),
            MOTLEY_DRIVER_OK);
  EXPECT_TRUE(got == bytes);
}

TEST_P(DriverSuite, MemoryIsAlignedAndNeverNullForNothing) {
  const DriverQueue queue(GetParam());
  for (const size_t size : {0, 1, 65, 100000}) {
    const Held first(queue, size);
    const Held second(queue, size);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % 64, 0U);
    EXPECT_NE(first.data(), second.data());
  }
}

// Freed memory may be reused while kernels still use it; the results must not change.
TEST_P(DriverSuite, MemoryMayBeFreedAndTakenWhileKernelsRun) {
  const DriverQueue queue(GetParam());
  constexpr size_t kCount = size_t{1} << 18;
  const Held sum(queue, kCount * sizeof(float));
  const motley_kernels& kernels = queue.kernels();
  kernels.fill(queue.get(), kCount, 0, sum.floats());
  for (int i = 1; i <= 200; ++i) {
    const Held term(queue, kCount * sizeof(float));
    ASSERT_TRUE(term.ok());
    kernels.fill(queue.get(), kCount, static_cast<float>(i), term.floats());
    kernels.axpy(queue.get(), kCount, 1, term.floats(), sum.floats());
  }
  std::vector<float> got(kCount);
  ASSERT_EQ(Out(queue, got.data(), sum.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(std::count(got.begin(), got.end(), 20100.0f), kCount);
}

TEST_P(DriverSuite, ThreadsMayAllocateWhileKernelsRun) {
  const DriverQueue queue(GetParam());
  constexpr size_t kCount = 1000;
  const Held x(queue, kCount * sizeof(float));
  queue.kernels().fill(queue.get(), kCount, 0, x.floats());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 3; ++i) {
    threads.emplace_back([&queue, i] {
      for (size_t j = 0; j < 100; ++j) EXPECT_TRUE(Held(queue, 1000 * (i + j)).ok());
    });
  }
  const Held one(queue, kCount * sizeof(float));
  queue.kernels().fill(queue.get(), kCount, 1, one.floats());
  for (int i = 0; i < 500; ++i) {
    queue.kernels().axpy(queue.get(), kCount, 1, one.floats(), x.floats());
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<float> got(kCount);
  ASSERT_EQ(Out(queue, got.data(), x.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(std::count(got.begin(), got.end(), 500.0f), kCount);
}

TEST_P(DriverSuite, WithoutEnoughMemoryTheQueueGoesOn) {
  const DriverQueue queue(GetParam());
  motley_driver_device device{};
  GetParam().driver->describe(GetParam().device, &device);
  EXPECT_EQ(queue.driver().allocate(queue.get(), size_t{64} * device.memory_bytes), nullptr);
  const Held x(queue, sizeof(float));
  ASSERT_TRUE(x.ok());
  queue.kernels().fill(queue.get(), 1, 3, x.floats());
  float got = 0;
  ASSERT_EQ(Out(queue, &got, x.data(), sizeof(got)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(got, 3);
}

TEST_P(DriverSuite, QueuesOfOneDeviceDoNotDisturbEachOther) {
  const DriverQueue first(GetParam());
  const DriverQueue second(GetParam());
  constexpr size_t kCount = 10000;
  const Held x(first, kCount * sizeof(float));
  const Held y(second, kCount * sizeof(float));
  for (int i = 0; i < 100; ++i) {
    first.kernels().fill(first.get(), kCount, static_cast<float>(i), x.floats());
    second.kernels().fill(second.get(), kCount, static_cast<float>(-i), y.floats());
  }
  std::vector<float> got(kCount);
  ASSERT_EQ(Out(second, got.data(), y.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(std::count(got.begin(), got.end(), -99.0f), kCount);
  ASSERT_EQ(Out(first, got.data(), x.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(std::count(got.begin(), got.end(), 99.0f), kCount);
}

TEST_P(DriverSuite, FinishSaysNothingWhereNothingFailed) {
  const DriverQueue queue(GetParam());
  const Held x(queue, 4000);
  queue.kernels().fill(queue.get(), 1000, 1, x.floats());
  const auto [code, text] = queue.Finish();
  EXPECT_EQ(code, MOTLEY_DRIVER_OK) << text;
}

}  // namespace motley::conformance
