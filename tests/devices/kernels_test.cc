// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>

#include "base/sanitizer.h"
#include "devices/cpu/cpu_device.h"
#include "tests/conformance/kernel_battery.h"
#include "tests/conformance/kernels_suite.h"
#include "tests/conformance/layer_kernels_suite.h"
#include "tests/conformance/pointwise_kernels_suite.h"

namespace motley::conformance {
namespace {

// A module with threads that it may borrow, which live as long.
class ThreadedRig final : public KernelRig {
 public:
  ThreadedRig(const motley_kernels& table, std::unique_ptr<ParallelFor> parallel)
      : parallel_(std::move(parallel)), queue_(MakeCpuQueue(*parallel_)), host_(table, &queue_) {}
  const motley_kernels& table() const override { return host_.table(); }
  void* queue() const override { return host_.queue(); }
  void* Store(const void* bytes, size_t size_bytes) override {
    return host_.Store(bytes, size_bytes);
  }
  void Load(const void* stored, void* bytes, size_t size_bytes) const override {
    host_.Load(stored, bytes, size_bytes);
  }

 private:
  const std::unique_ptr<ParallelFor> parallel_;
  motley_cpu_queue queue_;
  HostRig host_;
};

std::vector<KernelsCase> CpuCases() {
  std::vector<KernelsCase> cases;
  for (const KernelModule& module : CpuKernelModules()) {
    const motley_kernels* table = module.kernels;
    cases.push_back({module.name + "_serial", module.reason,
                     [table] { return std::make_unique<HostRig>(*table, nullptr); }});
    cases.push_back({module.name + "_tbb", module.reason, [table] {
                       return std::make_unique<ThreadedRig>(*table, MakeTbbParallelFor(4));
                     }});
  }
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<KernelsCase>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Cpu, KernelsSuite, ::testing::ValuesIn(CpuCases()), NameOf);

class KernelBits : public ::testing::TestWithParam<KernelModule> {};

TEST_P(KernelBits, PlainThreadsGiveTheBitsOfSerialKernels) {
  if (GetParam().kernels == nullptr) GTEST_SKIP() << GetParam().reason;
  const motley_kernels& table = *GetParam().kernels;
  HostRig serial(table, nullptr);
  const auto want = Battery(serial).Run();
  for (const size_t threads : {1, 3}) {
    ThreadedRig plain(table, MakeThreadParallelFor(threads));
    EXPECT_TRUE(Battery(plain).Run() == want) << threads;
  }
}

TEST_P(KernelBits, TbbArenasGiveTheBitsOfSerialKernels) {
  if (GetParam().kernels == nullptr) GTEST_SKIP() << GetParam().reason;
  const motley_kernels& table = *GetParam().kernels;
  HostRig serial(table, nullptr);
  const auto want = Battery(serial).Run();
  for (const size_t threads : {1, 2, 7}) {
    ThreadedRig tbb(table, MakeTbbParallelFor(threads));
    EXPECT_TRUE(Battery(tbb).Run() == want) << threads;
  }
}

TEST_P(KernelBits, OperandsAnywhereInMemoryGiveTheSameBits) {
  if (GetParam().kernels == nullptr) GTEST_SKIP() << GetParam().reason;
  HostRig aligned(*GetParam().kernels, nullptr, 0);
  const auto want = Battery(aligned).Run();
  for (const size_t offset : {8, 16, 32, 56}) {
    HostRig shifted(*GetParam().kernels, nullptr, offset);
    EXPECT_TRUE(Battery(shifted).Run() == want) << offset;
  }
}

TEST_P(KernelBits, ThreadsWithSmallStacksSuffice) {
  if (GetParam().kernels == nullptr) GTEST_SKIP() << GetParam().reason;
  HostRig rig(*GetParam().kernels, nullptr);
  // Thread sanitizer keeps data of its own on each stack.
#if MOTLEY_THREAD_SANITIZER
  constexpr size_t kSmall = size_t{2} << 20;
#else
  constexpr size_t kSmall = size_t{512} << 10;
#endif
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, kSmall), 0);
  pthread_t thread{};
  const auto run = [](void* context) -> void* {
    Battery(*static_cast<HostRig*>(context)).Run();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, run, &rig), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&small);
}

INSTANTIATE_TEST_SUITE_P(Cpu, KernelBits, ::testing::ValuesIn(CpuKernelModules()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace motley::conformance
