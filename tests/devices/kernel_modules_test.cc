// SPDX-License-Identifier: Apache-2.0
#include "devices/cpu/kernel_modules.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "devices/drivers/driver.h"
#include "devices/drivers/modules.h"
#include "test_paths.h"

namespace motley {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kModules = fs::path(MOTLEY_BINARY_DIR) / "modules";

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 256> line;
  while (fgets(line.data(), line.size(), pipe) != nullptr) output += line.data();
  return pclose(pipe) == 0 ? output : "";
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "motley_modules_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const KernelModule& Named(const std::vector<KernelModule>& modules, const std::string& name) {
  for (const KernelModule& module : modules) {
    if (module.name == name) return module;
  }
  ADD_FAILURE() << "no module " << name;
  return modules.front();
}

TEST(KernelModules, EachFileShowsOneSymbolAlone) {
  if (OutputOf("nm --version").empty()) GTEST_SKIP() << "nm (binutils) is not installed";
  int kernels = 0;
  for (const auto& file : fs::directory_iterator(kModules)) {
    if (file.path().filename() == "motley-mpi.so") continue;  // Package.Symbols looks at it.
    const bool cpu = file.path().filename().string().starts_with("motley-cpu-");
    const std::string symbols =
        OutputOf("nm -D --defined-only --format=just-symbols '" + file.path().string() + "'");
    const std::string symbol = cpu ? MOTLEY_KERNELS_SYMBOL : MOTLEY_DRIVER_SYMBOL;
    EXPECT_EQ(symbols, symbol + "\n") << file.path();
    kernels += cpu ? 1 : 0;
  }
  EXPECT_EQ(kernels, static_cast<int>(CpuKernelModules().size()));
}

TEST(KernelModules, BaselineRunsOnEveryProcessorAndComesLast) {
  const auto& modules = CpuKernelModules();
  EXPECT_EQ(modules.back().name, "baseline");
  EXPECT_NE(modules.back().kernels, nullptr) << modules.back().reason;
  for (const KernelModule& module : modules) {
    EXPECT_EQ(module.reason.empty(), module.kernels != nullptr) << module.name;
    if (module.kernels == nullptr) continue;
    EXPECT_EQ(module.name, module.kernels->name);
  }
}

TEST(KernelModules, AnotherVersionOfTheTableIsRefused) {
  void* library = dlopen((kModules / "motley-cpu-baseline.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto get = reinterpret_cast<motley_kernels_entry>(dlsym(library, MOTLEY_KERNELS_SYMBOL));
  ASSERT_NE(get, nullptr);
  EXPECT_EQ(get(MOTLEY_KERNELS_VERSION + 1), nullptr);
  EXPECT_EQ(get(MOTLEY_KERNELS_VERSION), get(MOTLEY_KERNELS_VERSION));
  dlclose(library);
}

TEST(KernelModules, AMissingModuleSaysWhereItWasLookedFor) {
  const auto modules = LoadKernelModules({"/nonexistent/one", "/nonexistent/two"});
  const KernelModule& module = Named(modules, "baseline");
  EXPECT_EQ(module.kernels, nullptr);
  EXPECT_THAT(module.reason, HasSubstr("motley-cpu-baseline.so"));
  EXPECT_THAT(module.reason, HasSubstr("/nonexistent/one, /nonexistent/two"));
}

TEST(KernelModules, TheFirstFolderThatHasTheFileWins) {
  ScratchFolder scratch;
  fs::copy_file(kModules / "motley-cpu-baseline.so", scratch.path() / "motley-cpu-baseline.so");
  EXPECT_NE(Named(LoadKernelModules({"/nonexistent", scratch.path().string()}), "baseline").kernels,
            nullptr);
}

TEST(KernelModules, AFileThatIsNoModuleIsReportedWithItsPath) {
  ScratchFolder scratch;
  const fs::path file = scratch.path() / "motley-cpu-baseline.so";
  std::ofstream(file) << "not a shared library";
  const auto modules = LoadKernelModules({scratch.path().string()});
  EXPECT_EQ(Named(modules, "baseline").kernels, nullptr);
  EXPECT_THAT(Named(modules, "baseline").reason, HasSubstr("cannot load " + file.string()));
}

TEST(KernelModules, ModulesWithoutDescriptorsReportItAndAreLoadedLater) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ScratchFolder scratch;  // Under a new name: the loader does not open a loaded file again.
  fs::copy_file(kModules / "motley-cpu-baseline.so", scratch.path() / "motley-cpu-baseline.so");
  KernelModuleList list;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto modules = list.Get({scratch.path().string()});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(Named(modules, "baseline").kernels, nullptr);
  const Status status = NoKernelModule(modules);
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_THAT(status.message(), HasSubstr("Too many open files"));
  EXPECT_NE(Named(list.Get({scratch.path().string()}), "baseline").kernels, nullptr);
  EXPECT_NE(Named(list.Get({"/nonexistent"}), "baseline").kernels, nullptr) << "loaded once";
  EXPECT_EQ(NoKernelModule(LoadKernelModules({"/nonexistent"})).code(), StatusCode::kNotFound);
}

TEST(KernelModules, ALibraryWithoutTheSymbolIsReported) {
  ScratchFolder scratch;
  fs::create_symlink(MOTLEY_BINARY_DIR "/tests/mock_modules/motley-opencl.so",
                     scratch.path() / "motley-cpu-baseline.so");
  const auto modules = LoadKernelModules({scratch.path().string()});
  EXPECT_EQ(Named(modules, "baseline").kernels, nullptr);
  EXPECT_THAT(Named(modules, "baseline").reason, HasSubstr(MOTLEY_KERNELS_SYMBOL));
}

TEST(KernelModules, TheEnvironmentNamesTheFirstFolder) {
  const char* before = std::getenv("MOTLEY_MODULE_DIR");
  const std::string saved = before != nullptr ? before : "";
  setenv("MOTLEY_MODULE_DIR", "/somewhere/else", 1);
  EXPECT_EQ(ModuleFolders().front(), "/somewhere/else");
  unsetenv("MOTLEY_MODULE_DIR");
  EXPECT_EQ(ModuleFolders().front(), MOTLEY_BINARY_DIR "/tests/modules");
  EXPECT_EQ(ModuleFolders().at(1), kModules.string());
  if (before != nullptr) setenv("MOTLEY_MODULE_DIR", saved.c_str(), 1);
}

}  // namespace
}  // namespace motley
