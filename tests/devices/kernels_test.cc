// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>

#include <bit>

#include "base/sanitizer.h"
#include "devices/cpu/cpu_device.h"
#include "tests/conformance/kernels_suite.h"
#include "tests/conformance/pointwise_kernels_suite.h"

namespace motley::conformance {
namespace {

// A module with threads to borrow, kept with them.
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

// Everything that a battery of large calls leaves behind, bit by bit.
class Battery {
 public:
  explicit Battery(KernelRig& rig) : rig_(rig), table_(rig.table()), queue_(rig.queue()) {}

  std::vector<uint64_t> Run() {
    Dense();
    Sparse();
    Pointwise();
    return std::move(bits_);
  }

 private:
  Operand<float> Random(size_t count) { return {rig_, RandomValues(random_, count)}; }
  void Keep(const Operand<float>& values) {
    for (const float value : values.Read()) bits_.push_back(std::bit_cast<uint32_t>(value));
  }
  void Keep(const Operand<double>& values) {
    for (const double value : values.Read()) bits_.push_back(std::bit_cast<uint64_t>(value));
  }

  void Dense() {
    const struct {
      size_t m, n, k;
    } shapes[] = {{400, 300, 40}, {700, 10, 200}, {1000, 1, 300}, {300, 1, 900}, {1, 900, 250}};
    for (const auto& [m, n, k] : shapes) {
      for (int transposes = 0; transposes < 4; ++transposes) {
        const auto c = Random(m * n);
        table_.gemm(queue_, transposes & 1, transposes & 2, m, n, k, 1.5f, Random(m * k),
                    Random(k * n), 1, c);
        Keep(c);
      }
    }
  }
  void Sparse() {
    const DeviceCsr csr(rig_, RandomCsr(random_, 300, 2000, 0.05));
    for (const size_t n : {1, 17}) {
      const auto product = Random(300 * n), gradient = Random(2000 * n);
      table_.csr_times_dense(queue_, &csr.view, n, 1, Random(2000 * n), 0, product);
      table_.csr_transposed_times_dense(queue_, &csr.view, n, 1, Random(300 * n), gradient);
      Keep(product);
      Keep(gradient);
    }
  }
  void Pointwise() {
    constexpr size_t kRows = 3000, kColumns = 33, kCount = kRows * kColumns;
    const auto x = Random(kCount), sums = Random(kColumns), y = Random(kCount);
    const Operand<double> loss(rig_, {0.0}), squares(rig_, {0.0});
    table_.add_bias(queue_, kRows, kColumns, sums, x);
    table_.add_column_sums(queue_, kRows, kColumns, 0.1f, x, sums);
    table_.sum_of_squares(queue_, kCount, x, squares);
    const Operand<float> labels(rig_, std::vector<float>(kRows, 3.0f));
    table_.softmax_cross_entropy(queue_, kRows, kColumns, labels, x, loss);
    table_.logistic_loss(queue_, kRows, labels, y, loss);
    table_.squared_loss(queue_, kRows, labels, y, loss);
    const auto m = Random(kCount), v = Operand<float>(rig_, std::vector<float>(kCount, 0.5f));
    table_.axpy(queue_, kCount, 0.3f, x, y);
    table_.adam(queue_, kCount, 0.1f, 0.9f, 0.99f, 1e-8f, 3, x, m, v, y);
    table_.momentum(queue_, kCount, 0.1f, 0.9f, 1, x, m, y);
    table_.relu(queue_, kCount, y);
    table_.relu_backward(queue_, kCount, y, m);
    for (const auto* values : {&x, &sums, &y, &m, &v}) Keep(*values);
    Keep(loss);
    Keep(squares);
  }

  KernelRig& rig_;
  const motley_kernels& table_;
  void* const queue_;
  motley::Random random_{5, Stream::kTest};
  std::vector<uint64_t> bits_;
};

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
