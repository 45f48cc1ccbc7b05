// SPDX-License-Identifier: Apache-2.0
// Tests the CUDA driver on the devices of this machine; docs/how-to/cuda.md explains how to run
// this elsewhere.
#include <gtest/gtest.h>

#include "tests/conformance/driver_suite.h"
#include "tests/conformance/kernel_battery.h"
#include "tests/conformance/kernels_suite.h"
#include "tests/conformance/layer_kernels_suite.h"
#include "tests/conformance/pointwise_kernels_suite.h"

namespace motley::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, KernelsSuite, ::testing::ValuesIn(DriverKernelsCases("cuda")),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Cuda, DriverSuite, ::testing::ValuesIn(DriverCases("cuda")),
                         NameOfDriverCase);

class CudaBits : public ::testing::TestWithParam<DriverCase> {};

TEST_P(CudaBits, AreTheSameEachTime) {
  if (!GetParam().why_not.empty()) GTEST_SKIP() << GetParam().why_not;
  DriverRig first(GetParam());
  const auto want = Battery(first).Run();
  DriverRig second(GetParam());
  EXPECT_TRUE(Battery(second).Run() == want);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaBits, ::testing::ValuesIn(DriverCases("cuda")),
                         NameOfDriverCase);

TEST(CudaDriverTest, SpeaksNoVersionThatItDoesNotKnow) {
  const auto [driver, why_not] = LoadDriver("cuda");
  if (driver == nullptr) GTEST_SKIP() << why_not;
  EXPECT_EQ(driver->version, unsigned{MOTLEY_DRIVER_VERSION});
  EXPECT_GE(driver->struct_size, sizeof(motley_driver));
  EXPECT_STREQ(driver->name, "cuda");
  void* library = dlopen(DriverPath("cuda").c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry = reinterpret_cast<motley_driver_entry>(dlsym(library, MOTLEY_DRIVER_SYMBOL));
  EXPECT_EQ(entry(MOTLEY_DRIVER_VERSION + 1), nullptr);
  dlclose(library);
}

// On a machine without NVIDIA's driver the plug-in loads, and reports what is missing.
TEST(CudaDriverTest, SaysWhyThereIsNoDevice) {
  const auto [driver, why_not] = LoadDriver("cuda");
  if (driver == nullptr) GTEST_SKIP() << why_not;
  for (int i = 0; i < 2; ++i) {
    char reason[256] = "";
    const size_t count = driver->find(reason, sizeof(reason));
    EXPECT_EQ(count == 0, std::string(reason) != "") << count << ": " << reason;
  }
  char cut[5] = "....";
  const bool none = driver->find(cut, sizeof(cut)) == 0;
  EXPECT_TRUE(!none || std::strlen(cut) == 4U);
}

// If the plug-in can be compiled, it must be found. A test that is skipped without it would not
// reveal a broken one.
TEST(CudaDriverTest, IsThereWhereItWasBuilt) {
#if MOTLEY_HAS_CUDA
  const auto [driver, why_not] = LoadDriver("cuda");
  EXPECT_NE(driver, nullptr) << why_not;
#else
  GTEST_SKIP() << "this build has no CUDA driver; the configure step says why";
#endif
}

}  // namespace
}  // namespace motley::conformance
