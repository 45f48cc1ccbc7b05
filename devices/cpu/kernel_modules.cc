// SPDX-License-Identifier: Apache-2.0
#include "devices/cpu/kernel_modules.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "devices/drivers/modules.h"

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

// The table of an open module, or null and the reason.
std::pair<const motley_kernels*, std::string> TableOf(void* library) {
  const auto entry = reinterpret_cast<motley_kernels_entry>(dlsym(library, MOTLEY_KERNELS_SYMBOL));
  if (entry == nullptr) return {nullptr, "it has no symbol " MOTLEY_KERNELS_SYMBOL};
  const motley_kernels* kernels = entry(MOTLEY_KERNELS_VERSION);
  if (kernels == nullptr || kernels->version != MOTLEY_KERNELS_VERSION ||
      kernels->struct_size < sizeof(motley_kernels)) {
    return {nullptr, fmt::format("its kernel table is not version {}; rebuild it together "
                                 "with the program",
                                 MOTLEY_KERNELS_VERSION)};
  }
  return {kernels, ""};
}

// A module stays loaded until the program ends, because its table is shared freely.
KernelModule Load(const InstructionSet& set, const std::vector<std::string>& folders) {
  KernelModule kernels{.name = std::string(set.name)};
  if (!set.supported()) {
    kernels.reason = fmt::format("this processor cannot run {} code", set.name);
    return kernels;
  }
  const Module module = LoadModule(fmt::format("motley-cpu-{}.so", set.name), folders);
  kernels.reason = module.reason;
  kernels.starved = module.starved;
  if (module.library == nullptr) return kernels;
  auto [table, reason] = TableOf(module.library);
  kernels.kernels = table;
  if (table == nullptr) {
    kernels.reason = fmt::format("cannot use {}: {}", module.path, reason);
    dlclose(module.library);
  }
  return kernels;
}

bool AnyStarved(const std::vector<KernelModule>& modules) {
  return std::any_of(modules.begin(), modules.end(),
                     [](const KernelModule& module) { return module.starved; });
}

}  // namespace

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
  return list.Get(ModuleFolders());
}

}  // namespace motley
