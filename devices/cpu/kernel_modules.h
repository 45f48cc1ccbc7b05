// SPDX-License-Identifier: Apache-2.0
// Finding and loading kernel modules, apart from the one list that the program uses
// (CpuKernelModules in cpu_device.h).
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "devices/cpu/cpu_device.h"

namespace motley {

// The modules of this architecture, best first, each from the first folder that has it. Asks the
// processor before loading, because a module's code may not run to tell.
std::vector<KernelModule> LoadKernelModules(const std::vector<std::string>& folders);

// The modules of LoadKernelModules, loaded at the first call; and again at each later one, as long
// as some were starved: who asks may have closed files meanwhile. Any thread.
class KernelModuleList {
 public:
  std::vector<KernelModule> Get(const std::vector<std::string>& folders);

 private:
  std::mutex mutex_;
  std::vector<KernelModule> modules_;
};

// Why none of `modules` is usable. kResource where one could be if this process had more files or
// memory, else kNotFound.
Status NoKernelModule(const std::vector<KernelModule>& modules);
// What there is to say of each: "avx2 is usable; ...".
std::string ReasonsOf(const std::vector<KernelModule>& modules);

}  // namespace motley
