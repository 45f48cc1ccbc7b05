// SPDX-License-Identifier: Apache-2.0
// Tests the compiling and caching of programs, and compile errors.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "devices/opencl/program.h"
#include "devices/opencl/program_cache.h"
#include "test_paths.h"

namespace motley::opencl {
namespace {

namespace fs = std::filesystem;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A folder of the test's own.
class OpenClCache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fmt::format("{}motley_opencl_program_{}", ::testing::TempDir(), getpid());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
};

TEST_F(OpenClCache, GivesBackWhatItWasGiven) {
  const std::string binary("\0\1compiled\xff", 11);
  EXPECT_FALSE(ReadCached(folder_, "key"));
  ASSERT_TRUE(WriteCached(folder_ + "/deeper", "key", binary));
  EXPECT_EQ(ReadCached(folder_ + "/deeper", "key"), binary);
  EXPECT_FALSE(ReadCached(folder_ + "/deeper", "other key"));
  ASSERT_TRUE(WriteCached(folder_ + "/deeper", "key", "newer"));
  EXPECT_EQ(ReadCached(folder_ + "/deeper", "key"), "newer");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/deeper"), {}), 1);
}

TEST_F(OpenClCache, TakesNoFileThatIsDamagedAnywhere) {
  ASSERT_TRUE(WriteCached(folder_, "key", "compiled"));
  const std::string path = CachePath(folder_, "key");
  const std::string whole = Read(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    Write(path, damaged);
    EXPECT_FALSE(ReadCached(folder_, "key")) << "byte " << i;
    Write(path, whole.substr(0, i));
    EXPECT_FALSE(ReadCached(folder_, "key")) << "cut at " << i;
  }
  Write(path, whole + "x");
  EXPECT_FALSE(ReadCached(folder_, "key"));
}

TEST_F(OpenClCache, TakesNoFileOfAnotherKeyUnderThisOnesName) {
  ASSERT_TRUE(WriteCached(folder_, "other", "compiled"));
  fs::rename(CachePath(folder_, "other"), CachePath(folder_, "key"));
  EXPECT_FALSE(ReadCached(folder_, "key"));
}

TEST_F(OpenClCache, FolderThatCannotBeMadeKeepsNothing) {
  Write(folder_, "a file");
  EXPECT_FALSE(WriteCached(folder_ + "/in", "key", "compiled"));
  EXPECT_FALSE(ReadCached(folder_ + "/in", "key"));
}

constexpr std::string_view kOne = "__kernel void one(__global int *x) { *x = 1; }\n";
constexpr std::string_view kTwo = "__kernel void two(__global int *x) { *x = 2; }\n";

// Uses the first usable device.
class OpenClProgram : public OpenClCache {
 protected:
  void SetUp() override {
    OpenClCache::SetUp();
    setenv("POCL_CACHE_DIR", MOTLEY_BINARY_DIR "/tests/pocl_cache", 0);
    std::string reason;
    for (const FoundDevice& device : FindDevices(reason)) {
      if (device.reason.empty()) device_ = device;
      if (!device.reason.empty()) reason = device.name + ": " + device.reason;
    }
    if (device_.id == nullptr) GTEST_SKIP() << reason;
    cl_int code = CL_SUCCESS;
    context_.reset(clCreateContext(nullptr, 1, &device_.id, nullptr, nullptr, &code));
    ASSERT_EQ(code, CL_SUCCESS);
  }
  Result<Program> Build(std::string_view source, const std::string& flags = "") {
    return BuildProgram(context_.get(), device_, source, {flags, folder_});
  }
  static bool Has(cl_program program, const char* name) {
    cl_int code = CL_SUCCESS;
    const Kernel kernel(clCreateKernel(program, name, &code));
    return code == CL_SUCCESS;
  }

  FoundDevice device_;
  Context context_;
};

TEST_F(OpenClProgram, CompileErrorsAreReportedWithTheCompilersLog) {
  const auto program = Build("__kernel void f(__global float *x) { *x = no_such_thing; }\n");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("no_such_thing"), std::string::npos)
      << program.status().ToString();
  EXPECT_FALSE(fs::exists(folder_)) << "a program that does not compile was cached";
}

TEST_F(OpenClProgram, IsTakenFromTheCacheTheNextTime) {
  const auto two = Build(kTwo);
  ASSERT_TRUE(two.ok()) << two.status().ToString();
  const auto binary = ReadCached(folder_, ProgramKey(device_, kTwo, ""));
  if (!binary) GTEST_SKIP() << "the driver of " << device_.name << " does not return binaries";
  // The cached program does something else, so that the test can tell them apart.
  ASSERT_TRUE(WriteCached(folder_, ProgramKey(device_, kOne, ""), *binary));
  const auto one = Build(kOne);
  ASSERT_TRUE(one.ok()) << one.status().ToString();
  EXPECT_TRUE(Has(one.value().get(), "two"));
  const auto fresh = Build(kOne, "-DX=1");
  ASSERT_TRUE(fresh.ok()) << fresh.status().ToString();
  EXPECT_TRUE(Has(fresh.value().get(), "one"));
}

TEST_F(OpenClProgram, ReplacesWhatTheDriverDoesNotTake) {
  const std::string key = ProgramKey(device_, kOne, "");
  for (const bool intact : {true, false}) {
    ASSERT_TRUE(WriteCached(folder_, key, "no program at all"));
    if (!intact) Write(CachePath(folder_, key), "no file of ours");
    const auto one = Build(kOne);
    ASSERT_TRUE(one.ok()) << one.status().ToString();
    EXPECT_TRUE(Has(one.value().get(), "one"));
    EXPECT_NE(ReadCached(folder_, key).value_or("not replaced"), "no program at all");
  }
}

TEST_F(OpenClProgram, CompilesWithoutACache) {
  EXPECT_TRUE(BuildProgram(context_.get(), device_, kOne, {}).ok());
  Write(folder_, "a file where the folder should be");
  EXPECT_TRUE(Build(kOne).ok());
}

}  // namespace
}  // namespace motley::opencl
