// SPDX-License-Identifier: Apache-2.0
// Finds and loads kernel modules. The program's own list of modules is CpuKernelModules in
// cpu_device.h.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "devices/cpu/cpu_device.h"

namespace motley {

// The modules of this architecture, best first, each from the first folder that has it. The
// processor's features are checked before a module is loaded, because an unsupported module cannot
// even run its check.
std::vector<KernelModule> LoadKernelModules(const std::vector<std::string>& folders);

// The modules of LoadKernelModules, loaded at the first call. If some were starved, later calls
// load them again, because the process may have closed files meanwhile. Any thread.
class KernelModuleList {
 public:
  std::vector<KernelModule> Get(const std::vector<std::string>& folders);

 private:
  std::mutex mutex_;
  std::vector<KernelModule> modules_;
};

// An error that says why no module is usable. kResource if one could be usable with more
// descriptors or memory, else kNotFound.
Status NoKernelModule(const std::vector<KernelModule>& modules);
// The state of each module: "avx2 is usable; ...".
std::string ReasonsOf(const std::vector<KernelModule>& modules);

}  // namespace motley
