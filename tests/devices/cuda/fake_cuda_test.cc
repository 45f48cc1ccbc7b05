// SPDX-License-Identifier: Apache-2.0
// Tests the whole CUDA driver on a fake CUDA (tests/devices/cuda/fake_cuda.h): the order of copies
// and kernels, reports of failures, and releases.
#include "tests/devices/cuda/fake_cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "devices/cuda/contexts.h"
#include "tests/conformance/driver_suite.h"
#include "tests/conformance/kernels_suite.h"
#include "tests/conformance/pointwise_kernels_suite.h"

extern "C" const motley_driver* motley_driver_get(uint32_t version);

namespace motley::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const motley_driver& Driver() { return *motley_driver_get(MOTLEY_DRIVER_VERSION); }

// Uses the second device, because the first is every thread's default.
std::vector<DriverCase> FakeCases() { return {{"fake1", "", &Driver(), 1, 1}}; }

std::vector<KernelsCase> FakeKernelsCases() {
  const DriverCase c = FakeCases()[0];
  return {{c.name, "", [c] { return std::make_unique<DriverRig>(c); }, /*large=*/true}};
}

INSTANTIATE_TEST_SUITE_P(FakeCuda, DriverSuite, ::testing::ValuesIn(FakeCases()), NameOfDriverCase);
INSTANTIATE_TEST_SUITE_P(FakeCuda, KernelsSuite, ::testing::ValuesIn(FakeKernelsCases()),
                         [](const auto& test) { return test.param.name; });

class FakeCudaTest : public ::testing::Test {
 protected:
  // The program itself uses the first device.
  FakeCudaTest() {
    fake_.Reset();
    cudaSetDevice(0);
  }
  // Everything is freed, and the devices of other threads are unchanged.
  ~FakeCudaTest() override {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    fake_.Reset();
  }

  static std::string Found() {
    char reason[256] = "";
    const size_t count = Driver().find(reason, sizeof(reason));
    return count == 0 ? reason : std::to_string(count);
  }
  static std::string ReasonOf(size_t index) {
    motley_driver_device device{};
    Driver().describe(index, &device);
    return device.reason;
  }
  // Opens a queue on the second device.
  motley_driver_queue* Open() {
    char error[256] = "";
    motley_driver_queue* queue = Driver().open(1, nullptr, error, sizeof(error));
    error_ = error;
    return queue;
  }
  static std::pair<int, std::string> Finish(motley_driver_queue* queue) {
    char error[512] = "";
    const int code = Driver().finish(queue, error, sizeof(error));
    return {code, error};
  }
  static int CopyIn(motley_driver_queue* queue, void* to, float value) {
    return CopyIn(queue, to, &value, sizeof(value));
  }
  static int CopyIn(motley_driver_queue* queue, void* to, const void* from, size_t size_bytes) {
    return DriverQueue::In(Driver(), queue, to, from, size_bytes);
  }
  static int CopyOut(motley_driver_queue* queue, void* to, const void* from, size_t size_bytes) {
    return DriverQueue::Out(Driver(), queue, to, from, size_bytes);
  }

  FakeCuda& fake_ = FakeCuda::Get();
  std::string error_;
};

TEST_F(FakeCudaTest, SaysWhyThereIsNoDevice) {
  EXPECT_EQ(Found(), "2");
  fake_.driver_version = 0;
  EXPECT_EQ(Found(), "no NVIDIA driver is loaded");
  fake_.driver_version = 11080;
  fake_.count_error = cudaErrorInsufficientDriver;
  EXPECT_THAT(Found(), AllOf(HasSubstr("is for CUDA 11.8"), HasSubstr("update the driver")));
  fake_.count_error = cudaErrorNoDevice;
  EXPECT_THAT(Found(), HasSubstr("CUDA_VISIBLE_DEVICES"));
  fake_.count_error = cudaErrorUnknown;
  EXPECT_THAT(Found(), HasSubstr("does not work: cudaErrorUnknown"));
}

TEST_F(FakeCudaTest, SaysWhyADeviceCannotBeUsed) {
  EXPECT_EQ(ReasonOf(0), "");
  fake_.devices[1].major = 6;
  fake_.devices[1].minor = 1;
  EXPECT_EQ(ReasonOf(1), "its compute capability is 6.1; this build is for 7.5 and newer");
  EXPECT_EQ(ReasonOf(0), "");
  fake_.devices[1] = FakeDevice{7, 5};
  EXPECT_EQ(ReasonOf(1), "");
  fake_.devices[1].compute_mode = cudaComputeModeProhibited;
  EXPECT_THAT(ReasonOf(1), HasSubstr("prohibited"));
  fake_.has_cublas = false;
  EXPECT_THAT(ReasonOf(0), HasSubstr("cuBLAS cannot be loaded"));
  fake_.FailAt("cudaGetDeviceProperties", cudaErrorUnknown);
  EXPECT_THAT(ReasonOf(0), HasSubstr("it does not answer: cudaErrorUnknown"));
}

// The variable would override what a program requests from cuBLAS.
TEST_F(FakeCudaTest, RefusesToComputeWithTf32) {
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  EXPECT_THAT(ReasonOf(0), HasSubstr("NVIDIA_TF32_OVERRIDE"));
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  EXPECT_EQ(ReasonOf(0), "");
  unsetenv("NVIDIA_TF32_OVERRIDE");
  EXPECT_EQ(ReasonOf(0), "");
}

TEST_F(FakeCudaTest, ADescriptionLoadsNoLibraries) {
  const int loaded = fake_.loaded;
  EXPECT_EQ(Found(), "2");
  EXPECT_EQ(ReasonOf(0), "");
  EXPECT_EQ(fake_.loaded, loaded);
}

TEST_F(FakeCudaTest, FailuresWhileOpeningAreReportedAndEverythingIsFreed) {
  const struct {
    const char* function;
    int good;
  } calls[] = {{"cudaStreamCreateWithFlags", 0},
               {"cudaSetDevice", 0},
               {"cudaMemPoolCreate", 0},
               {"cudaMemPoolSetAttribute", 0},
               {"cudaHostAlloc", 0},
               {"cudaHostAlloc", 2},
               {"cudaEventCreateWithFlags", 0},
               {"cudaEventCreateWithFlags", 2},
               {"cudaEventRecord", 1},
               {"cudaMalloc", 0},
               {"cudaMalloc", 1},
               {"cudaMalloc", 2},
               {"cudaEventQuery", 0}};
  for (const auto& [function, good] : calls) {
    for (const bool sticky : {false, true}) {
      fake_.FailAt(function, cudaErrorLaunchFailure, good, sticky);
      EXPECT_EQ(Open(), nullptr) << function;
      EXPECT_THAT(error_, HasSubstr("cudaErrorLaunchFailure")) << function;
      fake_.Reset();
    }
  }
  fake_.cublas_status = 14;
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("gemm failed: CUBLAS_STATUS, as planned"));
  fake_.has_cublas = false;
  EXPECT_EQ(Open(), nullptr);
  EXPECT_THAT(error_, HasSubstr("cuBLAS cannot be loaded"));
}

TEST_F(FakeCudaTest, TheFirstFailureIsReportedOnceAndTheQueueGoesOn) {
  motley_driver_queue* queue = Open();
  ASSERT_NE(queue, nullptr) << error_;
  auto* x = static_cast<float*>(Driver().allocate(queue, sizeof(float)));
  EXPECT_EQ(CopyIn(queue, x, 1), MOTLEY_DRIVER_OK);
  fake_.FailAt("cudaMemcpyAsync", cudaErrorMemoryAllocation);
  EXPECT_EQ(CopyIn(queue, x, 2), MOTLEY_DRIVER_NO_MEMORY);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  fake_.cublas_status = 13;
  Driver().kernels(queue)->gemm(queue, 0, 0, 1, 1, 1, 1, x, x, 0, x);
  EXPECT_EQ(CopyIn(queue, x, 3), MOTLEY_DRIVER_NO_MEMORY);
  EXPECT_THAT(Finish(queue),
              ::testing::Pair(MOTLEY_DRIVER_NO_MEMORY,
                              "copy_in failed: cudaErrorMemoryAllocation, as planned"));
  EXPECT_THAT(Finish(queue), ::testing::Pair(MOTLEY_DRIVER_OK, ""));
  float got = 0;
  EXPECT_EQ(CopyOut(queue, &got, x, sizeof(got)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(got, 1);
  Driver().free(queue, x);
  Driver().close(queue);
}

// If nobody waits for a failed copy, it could run when the memory belongs to somebody else.
TEST_F(FakeCudaTest, AFailedCopyIsNotRunningAnyMore) {
  motley_driver_queue* queue = Open();
  constexpr size_t kBytes = size_t{5} << 20;
  const std::vector<char> from(kBytes, 1);
  void* const first = Driver().allocate(queue, kBytes);
  fake_.FailAt("cudaMemcpyAsync", cudaErrorMemoryAllocation, 1);
  EXPECT_EQ(CopyIn(queue, first, from.data(), kBytes), MOTLEY_DRIVER_NO_MEMORY);
  EXPECT_EQ(Finish(queue).first, MOTLEY_DRIVER_NO_MEMORY);
  Driver().free(queue, first);
  auto* const second = static_cast<float*>(Driver().allocate(queue, kBytes));
  ASSERT_EQ(second, first);
  Driver().kernels(queue)->fill(queue, 1, 3, second);
  EXPECT_EQ(Finish(queue).first, MOTLEY_DRIVER_OK);
  EXPECT_EQ(CopyIn(queue, second + 1, 1), MOTLEY_DRIVER_OK);  // Copies run in order.
  float got = 0;
  EXPECT_EQ(CopyOut(queue, &got, second, sizeof(got)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(got, 3);
  Driver().free(queue, second);
  Driver().close(queue);
}

TEST_F(FakeCudaTest, AFailureOfAProductIsNamed) {
  motley_driver_queue* queue = Open();
  auto* x = static_cast<float*>(Driver().allocate(queue, sizeof(float)));
  const struct {
    int status, code;
  } statuses[] = {{3, MOTLEY_DRIVER_NO_MEMORY}, {13, MOTLEY_DRIVER_LOST}};
  for (const auto& [status, code] : statuses) {
    fake_.cublas_status = status;
    Driver().kernels(queue)->gemm(queue, 0, 0, 1, 1, 1, 1, x, x, 0, x);
    EXPECT_THAT(Finish(queue), ::testing::Pair(code, HasSubstr("gemm failed: CUBLAS_STATUS")));
  }
  Driver().free(queue, x);
  Driver().close(queue);
}

TEST_F(FakeCudaTest, ALostDeviceIsReportedEachTimeAndCanBeClosed) {
  for (const char* function : {"cudaMemcpyAsync", "cudaEventRecord", "cudaEventQuery"}) {
    motley_driver_queue* queue = Open();
    ASSERT_NE(queue, nullptr) << error_;
    auto* x = static_cast<float*>(Driver().allocate(queue, sizeof(float)));
    fake_.FailAt(function, cudaErrorIllegalAddress, 0, true);
    float got = 0;
    EXPECT_EQ(CopyOut(queue, &got, x, sizeof(got)), MOTLEY_DRIVER_LOST);
    EXPECT_THAT(Finish(queue),
                ::testing::Pair(MOTLEY_DRIVER_LOST,
                                AllOf(HasSubstr("copy_out failed: cudaErrorIllegalAddress"),
                                      HasSubstr("an earlier one"))));
    EXPECT_THAT(Finish(queue), ::testing::Pair(MOTLEY_DRIVER_LOST, HasSubstr("finish failed")));
    EXPECT_EQ(Driver().allocate(queue, 1), nullptr);
    EXPECT_EQ(CopyIn(queue, x, 1), MOTLEY_DRIVER_LOST);
    Driver().free(queue, x);
    Driver().close(queue);
    fake_.Reset();
  }
}

// The queue's own thread keeps the device, another one has none afterwards, and nobody makes a
// context on the first device.
TEST_F(FakeCudaTest, ThreadsWithoutADeviceGetNoContextOnTheFirstOne) {
  fake_.devices[0].chosen = 0;
  motley_driver_queue* queue = nullptr;
  void* memory = nullptr;
  std::thread([&] {
    queue = Open();
    memory = Driver().allocate(queue, 64);
    EXPECT_EQ(cuda::CurrentContext(), nullptr);
  }).join();
  const int before = fake_.devices[1].chosen;
  std::thread([&] {
    for (int i = 0; i < 10; ++i) {
      Driver().kernels(queue)->gemm(queue, 0, 0, 1, 1, 1, 1, static_cast<float*>(memory),
                                    static_cast<float*>(memory), 0, static_cast<float*>(memory));
      EXPECT_EQ(CopyIn(queue, memory, 1), MOTLEY_DRIVER_OK);
      EXPECT_EQ(Finish(queue).first, MOTLEY_DRIVER_OK);
    }
  }).join();
  EXPECT_EQ(fake_.devices[1].chosen, before + 1);
  std::thread([&] {
    Driver().free(queue, memory);
    Driver().close(queue);
    EXPECT_EQ(cuda::CurrentContext(), nullptr);
  }).join();
  EXPECT_EQ(fake_.devices[0].chosen, 0);
}

TEST_F(FakeCudaTest, CallsThatCannotSetTheirDeviceDoNothingOnAnother) {
  motley_driver_queue* queue = Open();
  ASSERT_NE(queue, nullptr) << error_;
  auto* x = static_cast<float*>(Driver().allocate(queue, sizeof(float)));
  fake_.FailAt("cudaSetDevice", cudaErrorLaunchFailure);
  EXPECT_EQ(CopyIn(queue, x, 1), MOTLEY_DRIVER_LOST);
  EXPECT_THAT(Finish(queue), ::testing::Pair(MOTLEY_DRIVER_LOST, HasSubstr("choosing the device")));
  fake_.FailAt("cudaSetDevice", cudaErrorLaunchFailure);
  EXPECT_EQ(Driver().allocate(queue, 1), nullptr);
  Driver().free(queue, x);
  Driver().close(queue);
}

TEST_F(FakeCudaTest, MemoryThatIsAboutToBeFreeMakesRoom) {
  constexpr size_t kSize = size_t{50} << 20;
  fake_.devices[1].memory_bytes = 2 * kSize + (size_t{64} << 20);
  motley_driver_queue* queue = Open();
  void* first = Driver().allocate(queue, kSize);
  ASSERT_NE(first, nullptr);
  Driver().kernels(queue)->fill(queue, 1, 0, static_cast<float*>(first));
  EXPECT_EQ(Driver().allocate(queue, kSize), nullptr);
  Driver().free(queue, first);
  void* second = Driver().allocate(queue, kSize);
  EXPECT_NE(second, nullptr);
  Driver().free(queue, second);
  EXPECT_THAT(Finish(queue), ::testing::Pair(MOTLEY_DRIVER_OK, ""));
  Driver().close(queue);
}

TEST_F(FakeCudaTest, OnlyBuffersAreAllocatedOnceAQueueIsOpen) {
  motley_driver_queue* queue = Open();
  constexpr size_t kCount = size_t{3} << 20;
  auto* x = static_cast<float*>(Driver().allocate(queue, kCount * sizeof(float)));
  std::vector<float> values(kCount, 1.0f);
  const int made = fake_.made;
  for (int i = 0; i < 3; ++i) {
    CopyIn(queue, x, values.data(), kCount * sizeof(float));
    Driver().kernels(queue)->gemm(queue, 0, 1, 10, 20, 10000, 1, x, x + 100000, 0, x + 1000000);
    Driver().kernels(queue)->add_column_sums(queue, 100, 50, 1, x, x + 10000);
    CopyOut(queue, values.data(), x, kCount * sizeof(float));
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    EXPECT_EQ(Finish(queue).first, MOTLEY_DRIVER_OK);
  }
  EXPECT_EQ(fake_.made, made);
  Driver().free(queue, x);
  Driver().close(queue);
}

// The weight gradient of a convolution has few results; each is a sum of a million terms.
TEST_F(FakeCudaTest, DeepProductsAreFewLaunches) {
  motley_driver_queue* queue = Open();
  ASSERT_NE(queue, nullptr) << error_;
  const struct {
    size_t m, n, k;
    int transpose_a;
  } shapes[] = {{9, 16, 802816, 1}, {64, 32, 4096, 0}, {1, 1, 802816 + 7, 1}, {300, 5, 1500, 0}};
  for (const auto& [m, n, k, transpose_a] : shapes) {
    Random random(m, Stream::kTest);
    std::vector<float> a = RandomValues(random, m * k, -1, 1);
    std::vector<float> b = RandomValues(random, k * n, -1, 1);
    std::vector<float> c(m * n, 2.0f);
    const auto store = [&](const std::vector<float>& values) {
      auto* to = static_cast<float*>(Driver().allocate(queue, values.size() * sizeof(float)));
      EXPECT_EQ(CopyIn(queue, to, values.data(), values.size() * sizeof(float)), MOTLEY_DRIVER_OK);
      return to;
    };
    float* const stored[] = {store(a), store(b), store(c)};
    const int before = fake_.launches;
    Driver().kernels(queue)->gemm(queue, transpose_a, 0, m, n, k, 0.5f, stored[0], stored[1], -1,
                                  stored[2]);
    EXPECT_LE(fake_.launches - before, 3) << m << " x " << n << " x " << k;
    EXPECT_EQ(CopyOut(queue, c.data(), stored[2], c.size() * sizeof(float)), MOTLEY_DRIVER_OK);
    std::vector<double> want(m * n, -2), magnitude(m * n, 2);
    for (size_t l = 0; l < k; ++l) {
      for (size_t i = 0; i < m * n; ++i) {
        const double left = transpose_a != 0 ? a[l * m + i / n] : a[i / n * k + l];
        const double term = 0.5 * left * b[l * n + i % n];
        want[i] += term;
        magnitude[i] += std::abs(term);
      }
    }
    for (size_t i = 0; i < m * n; ++i) ASSERT_NEAR(c[i], want[i], 1e-6 * magnitude[i]) << i;
    for (float* memory : stored) Driver().free(queue, memory);
  }
  EXPECT_THAT(Finish(queue), ::testing::Pair(MOTLEY_DRIVER_OK, ""));
  Driver().close(queue);
}

// Virtual and divided devices have no pools.
TEST_F(FakeCudaTest, DevicesWithoutMemoryPoolsWork) {
  for (const bool says_so : {true, false}) {
    fake_.devices[1].has_pools = !says_so;
    fake_.devices[1].refuses_pools = true;
    EXPECT_EQ(ReasonOf(1), "");
    motley_driver_queue* queue = Open();
    ASSERT_NE(queue, nullptr) << error_;
    const size_t used = fake_.devices[1].used_bytes;
    auto* first = static_cast<float*>(Driver().allocate(queue, 64));
    auto* second = static_cast<float*>(Driver().allocate(queue, 64));
    Driver().kernels(queue)->fill(queue, 16, 3, first);
    Driver().kernels(queue)->axpy(queue, 16, 2, first, first);
    Driver().kernels(queue)->fill(queue, 16, 0, second);
    Driver().kernels(queue)->axpy(queue, 16, 1, first, second);
    Driver().free(queue, first);  // Kernels that read it have run by then.
    float got = 0;
    EXPECT_EQ(CopyOut(queue, &got, second, sizeof(got)), MOTLEY_DRIVER_OK);
    EXPECT_EQ(got, 9);
    EXPECT_EQ(Driver().allocate(queue, fake_.devices[1].memory_bytes), nullptr);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
    Driver().free(queue, second);
    EXPECT_EQ(fake_.devices[1].used_bytes, used);
    EXPECT_THAT(Finish(queue), ::testing::Pair(MOTLEY_DRIVER_OK, ""));
    Driver().close(queue);
  }
}

// The next copy uses the same pinned pieces.
TEST_F(FakeCudaTest, AFailedCopyOutIsNotRunningAnyMore) {
  motley_driver_queue* queue = Open();
  constexpr size_t kBytes = size_t{7} << 20;
  auto* const x = static_cast<float*>(Driver().allocate(queue, kBytes));
  Driver().kernels(queue)->fill(queue, kBytes / sizeof(float), 1, x);
  std::vector<char> to(kBytes);
  fake_.FailAt("cudaMemcpyAsync", cudaErrorMemoryAllocation, 2);
  EXPECT_EQ(CopyOut(queue, to.data(), x, kBytes), MOTLEY_DRIVER_NO_MEMORY);
  EXPECT_EQ(fake_.Waiting(), 0U) << "copies into pinned memory are still running";
  EXPECT_EQ(Finish(queue).first, MOTLEY_DRIVER_NO_MEMORY);
  Driver().free(queue, x);
  Driver().close(queue);
}

// The sparse matrix's descriptor is on the host, and destroyed before the kernel runs.
TEST_F(FakeCudaTest, DescriptorsMayGoBeforeTheirKernelRuns) {
  motley_driver_queue* queue = Open();
  auto* memory = static_cast<std::byte*>(Driver().allocate(queue, 4096));
  const uint64_t row_begin[] = {0, 1};
  const uint32_t column[] = {0};
  CopyIn(queue, memory, row_begin, sizeof(row_begin));
  CopyIn(queue, memory + 64, column, sizeof(column));
  auto* values = reinterpret_cast<float*>(memory + 128);
  CopyIn(queue, values, 3);
  CopyIn(queue, values + 1, 5);
  {
    motley_csr a{1, 1, reinterpret_cast<const uint64_t*>(memory),
                 reinterpret_cast<const uint32_t*>(memory + 64), values};
    Driver().kernels(queue)->csr_times_dense(queue, &a, 1, 1, values + 1, 0, values + 2);
    a = motley_csr{};
  }
  float got = 0;
  EXPECT_EQ(CopyOut(queue, &got, values + 2, sizeof(got)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(got, 15);
  Driver().free(queue, memory);
  Driver().close(queue);
}

}  // namespace
}  // namespace motley::conformance
