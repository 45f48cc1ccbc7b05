// SPDX-License-Identifier: Apache-2.0
// Tests the OpenCL driver through its table, on each device of this machine.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "test_paths.h"
#include "tests/conformance/driver_rig.h"
#include "tests/conformance/driver_suite.h"
#include "tests/conformance/layer_kernels_suite.h"
#include "tests/conformance/pointwise_kernels_suite.h"

namespace motley::conformance {
namespace {

// PoCL compiles for seconds, once for all tests of this build.
std::vector<DriverCase> Cases() {
  setenv("POCL_CACHE_DIR", MOTLEY_BINARY_DIR "/tests/pocl_cache", 0);
  return DriverCases("opencl");
}

std::vector<KernelsCase> KernelsCases() {
  Cases();
  return DriverKernelsCases("opencl");
}

INSTANTIATE_TEST_SUITE_P(OpenCl, KernelsSuite, ::testing::ValuesIn(KernelsCases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(OpenCl, DriverSuite, ::testing::ValuesIn(Cases()), NameOfDriverCase);

class OpenClDriver : public DriverSuite {};

TEST_P(OpenClDriver, SizesLargerThanOneLaunchAreDoneWhole) {
  const DriverQueue queue(GetParam());
  constexpr size_t kCount = (size_t{1} << 22) + 3;
  const Held x(queue, kCount * sizeof(float));
  const Held y(queue, kCount * sizeof(float));
  const Held sum(queue, sizeof(double));
  queue.kernels().fill(queue.get(), kCount, 1, x.floats());
  queue.kernels().fill(queue.get(), kCount, 2, y.floats());
  queue.kernels().axpy(queue.get(), kCount, 0.5f, x.floats(), y.floats());
  queue.kernels().sum_of_squares(queue.get(), kCount, y.floats(),
                                 reinterpret_cast<double*>(sum.data()));
  double got_sum = 0;
  ASSERT_EQ(Out(queue, &got_sum, sum.data(), sizeof(double)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(got_sum, 6.25 * kCount);
  std::vector<float> got(kCount);
  ASSERT_EQ(Out(queue, got.data(), y.data(), kCount * sizeof(float)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(std::count(got.begin(), got.end(), 2.5f), kCount);
}

// A label that is no class must not make a device read or write elsewhere.
TEST_P(OpenClDriver, LabelsThatAreNoClassTouchNothingElse) {
  for (const size_t columns : {3, 100}) {  // An item for each row, and a group for each row.
    DriverRig rig(GetParam());
    const Operand<float> x(rig, std::vector<float>(4 * columns, 0.0f));
    const Operand<float> labels(rig, {-1.0f, static_cast<float>(columns), 1e30f, kNan});
    const Operand<double> loss(rig, {0.0});
    rig.table().softmax_cross_entropy(rig.queue(), 4, columns, labels, nullptr, x, loss);
    for (const float value : x.Read()) {
      EXPECT_FLOAT_EQ(value, 1.0f / static_cast<float>(columns));
    }
  }
}

TEST_P(OpenClDriver, AnOperandOutsideOfMemoryIsReportedOnce) {
  const DriverQueue queue(GetParam());
  const Held x(queue, 4 * sizeof(float));
  const motley_kernels& kernels = queue.kernels();
  kernels.fill(queue.get(), 4, 1, x.floats());
  float mine[4] = {};
  kernels.fill(queue.get(), 4, 2, mine);
  kernels.fill(queue.get(), 5, 3, x.floats());
  kernels.fill(queue.get(), 4, 4, x.floats());
  float got[4] = {};
  EXPECT_EQ(Out(queue, got, x.data(), sizeof(got)), MOTLEY_DRIVER_LOST);
  const auto [code, text] = queue.Finish();
  EXPECT_EQ(code, MOTLEY_DRIVER_LOST);
  EXPECT_NE(text.find("4 elements of 4 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("CL_INVALID_MEM_OBJECT"), std::string::npos) << text;
  EXPECT_EQ(queue.Finish().first, MOTLEY_DRIVER_OK);
  ASSERT_EQ(Out(queue, got, x.data(), sizeof(got)), MOTLEY_DRIVER_OK);
  EXPECT_EQ(got[3], 1) << "a call after a failure ran";
  EXPECT_EQ(mine[0], 0);
}

TEST_P(OpenClDriver, CopiesPastTheEndAreRefused) {
  const DriverQueue queue(GetParam());
  const Held x(queue, 10);
  const char bytes[11] = "0123456789";
  char got[11] = {};
  EXPECT_EQ(In(queue, x.data(), bytes, 11), MOTLEY_DRIVER_LOST);
  EXPECT_EQ(queue.Finish().first, MOTLEY_DRIVER_LOST);
  EXPECT_EQ(Out(queue, got, x.data(1), 10), MOTLEY_DRIVER_LOST);
  EXPECT_EQ(queue.Finish().first, MOTLEY_DRIVER_LOST);
  EXPECT_EQ(In(queue, x.data(), bytes, 10), MOTLEY_DRIVER_OK);
  EXPECT_EQ(Out(queue, got, x.data(7), 3), MOTLEY_DRIVER_OK);
  EXPECT_STREQ(got, "789");
}

TEST_P(OpenClDriver, TheSumOfAllMemoryIsLimited) {
  const DriverQueue queue(GetParam());
  motley_driver_device device{};
  GetParam().driver->describe(GetParam().device, &device);
  // No such memory is ever touched: the second allocation fails before the driver is asked.
  const Held some(queue, 1 << 20);
  ASSERT_TRUE(some.ok());
  EXPECT_FALSE(Held(queue, device.memory_bytes - 1).ok());
}

TEST_P(OpenClDriver, DamagedCacheFilesAreReplaced) {
  namespace fs = std::filesystem;
  const fs::path folder =
      fmt::format("{}motley_opencl_{}_{}", ::testing::TempDir(), GetParam().name, getpid());
  fs::remove_all(folder);
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), {}); };
  const auto fill = [&] {
    const DriverQueue queue(GetParam(), folder.c_str());
    const Held x(queue, sizeof(float));
    queue.kernels().fill(queue.get(), 1, 3, x.floats());
    float got = 0;
    EXPECT_EQ(Out(queue, &got, x.data(), sizeof(got)), MOTLEY_DRIVER_OK);
    EXPECT_EQ(got, 3);
  };
  fill();
  if (!fs::exists(folder)) GTEST_SKIP() << GetParam().name << " does not return compiled programs";
  ASSERT_EQ(files(), 1);
  const fs::path file = fs::directory_iterator(folder)->path();
  const auto size = fs::file_size(file);
  for (const uintmax_t left : {uintmax_t{0}, size / 2}) {
    fs::resize_file(file, left);
    fill();
    EXPECT_GT(fs::file_size(file), left);  // The size varies: PoCL adds what it compiled since.
    EXPECT_EQ(files(), 1);
  }
  fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(OpenCl, OpenClDriver, ::testing::ValuesIn(Cases()), NameOfDriverCase);

}  // namespace
}  // namespace motley::conformance
