// SPDX-License-Identifier: Apache-2.0
// Finding and loading kernel modules, apart from the one list that the program uses
// (CpuKernelModules in cpu_device.h).
#pragma once

#include <string>
#include <vector>

#include "devices/cpu/cpu_device.h"

namespace motley {

// Where modules are looked for, in this order: $MOTLEY_MODULE_DIR; modules/, ../modules/ and
// ../lib/motley/ seen from the folder of the running program.
std::vector<std::string> KernelModuleFolders();

// The modules of this architecture, best first, each from the first folder that has it. Asks the
// processor before loading, because a module's code may not run to tell.
std::vector<KernelModule> LoadKernelModules(const std::vector<std::string>& folders);

}  // namespace motley
