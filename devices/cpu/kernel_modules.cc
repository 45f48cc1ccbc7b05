// SPDX-License-Identifier: Apache-2.0
#include "devices/cpu/kernel_modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace motley {
namespace {

struct InstructionSet {
  std::string_view name;
  bool (*supported)();
};

#if defined(__x86_64__)
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool HasAvx512() {
  return HasAvx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

constexpr InstructionSet kInstructionSets[] = {
#if defined(__x86_64__)
    {"avx512", HasAvx512},
    {"avx2", HasAvx2},
#endif
    {"baseline", [] { return true; }},
};

// The table of an open module, or null and why not.
std::pair<const motley_kernels*, std::string> TableOf(void* library) {
  const auto entry = reinterpret_cast<motley_kernels_entry>(dlsym(library, MOTLEY_KERNELS_SYMBOL));
  if (entry == nullptr) return {nullptr, "it has no symbol " MOTLEY_KERNELS_SYMBOL};
  const motley_kernels* kernels = entry(MOTLEY_KERNELS_VERSION);
  if (kernels == nullptr || kernels->version != MOTLEY_KERNELS_VERSION ||
      kernels->struct_size < sizeof(motley_kernels)) {
    return {nullptr, fmt::format("its table of kernels is not version {}: rebuild it together "
                                 "with the program",
                                 MOTLEY_KERNELS_VERSION)};
  }
  return {kernels, ""};
}

// Whether a file that could not be loaded cannot be opened either, for want of something. The
// loader itself says so in words alone.
bool IsStarved(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
}

// A module stays loaded for as long as the program runs: tables are handed out freely.
KernelModule Open(const InstructionSet& set, const std::string& path) {
  KernelModule module{.name = std::string(set.name)};
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    module.reason = fmt::format("cannot load {}: {}", path, dlerror());
    module.starved = IsStarved(path);
    return module;
  }
  auto [kernels, reason] = TableOf(library);
  module.kernels = kernels;
  if (kernels == nullptr) {
    module.reason = fmt::format("cannot use {}: {}", path, reason);
    dlclose(library);
  }
  return module;
}

KernelModule Load(const InstructionSet& set, const std::vector<std::string>& folders) {
  const std::string name(set.name);
  if (!set.supported()) {
    return {.name = name, .reason = fmt::format("this processor cannot run {} code", name)};
  }
  const std::string file = fmt::format("motley-cpu-{}.so", name);
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder) / file;
    std::error_code error;
    if (std::filesystem::exists(path, error)) return Open(set, path.string());
  }
  return {.name = name,
          .reason = fmt::format("no {} in {} (set MOTLEY_MODULE_DIR to the folder that has it)",
                                file, fmt::join(folders, ", "))};
}

bool AnyStarved(const std::vector<KernelModule>& modules) {
  return std::any_of(modules.begin(), modules.end(),
                     [](const KernelModule& module) { return module.starved; });
}

}  // namespace

std::vector<std::string> KernelModuleFolders() {
  std::vector<std::string> folders;
  if (const char* chosen = std::getenv("MOTLEY_MODULE_DIR"); chosen != nullptr && *chosen != '\0') {
    folders.emplace_back(chosen);
  }
  const auto add = [&folders](const std::filesystem::path& from, std::string_view folder) {
    folders.push_back((from / folder).lexically_normal().string());
  };
  // Where this code is: in the program, or in a library that the program loaded.
  Dl_info here{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&CpuKernelModules), &here) != 0) {
    const auto file = std::filesystem::absolute(here.dli_fname, error);
    if (!error && file.filename().string().find(".so") != std::string::npos) {
      for (const char* folder : {"motley", "modules"}) add(file.parent_path(), folder);
    }
  }
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return folders;
  for (const char* folder : {"modules", "../modules", "../lib/motley", MOTLEY_INSTALLED_MODULES}) {
    add(program, folder);
  }
  return folders;
}

std::vector<KernelModule> LoadKernelModules(const std::vector<std::string>& folders) {
  std::vector<KernelModule> modules;
  for (const InstructionSet& set : kInstructionSets) modules.push_back(Load(set, folders));
  return modules;
}

std::vector<KernelModule> KernelModuleList::Get(const std::vector<std::string>& folders) {
  const std::lock_guard lock(mutex_);
  if (modules_.empty() || AnyStarved(modules_)) modules_ = LoadKernelModules(folders);
  return modules_;
}

std::string ReasonsOf(const std::vector<KernelModule>& modules) {
  std::string text;
  for (const KernelModule& module : modules) {
    if (!text.empty()) text += "; ";
    text += module.name + (module.kernels != nullptr ? " is usable" : ": " + module.reason);
  }
  return text;
}

Status NoKernelModule(const std::vector<KernelModule>& modules) {
  const std::string reasons = ReasonsOf(modules);
  if (AnyStarved(modules)) return Status::Resource("no kernel module could be opened: " + reasons);
  return Status::NotFound("no kernel module for this processor can be loaded: " + reasons);
}

std::vector<KernelModule> CpuKernelModules() {
  static KernelModuleList list;
  return list.Get(KernelModuleFolders());
}

}  // namespace motley
