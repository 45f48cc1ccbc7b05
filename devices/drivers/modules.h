// SPDX-License-Identifier: Apache-2.0
// Finding and loading what is built as files of its own: the CPU's kernels and the device drivers.
#pragma once

#include <string>
#include <vector>

namespace motley {

// Where modules are looked for, in this order: $MOTLEY_MODULE_DIR; modules/, ../modules/ and
// ../lib/motley/ seen from the folder of the running program.
std::vector<std::string> ModuleFolders();

// Where this program keeps things between runs: $XDG_CACHE_HOME/motley or ~/.cache/motley; empty
// where there is no home.
std::string CacheFolder();

struct Module {
  void* library = nullptr;  // Of dlopen; null when it could not be loaded.
  std::string path;         // Empty: there is no such file.
  std::string reason;       // Why it could not be loaded.
  bool starved = false;     // It is there, but this process may open no more, or has no memory.
};
// `file` from the first folder that has it. Any thread.
Module LoadModule(const std::string& file, const std::vector<std::string>& folders);

}  // namespace motley
