// SPDX-License-Identifier: Apache-2.0
// Finds and loads modules, which are files of their own: the CPU's kernels and the device drivers.
#pragma once

#include <string>
#include <vector>

namespace motley {

// The folders of modules, in the order of search: $MOTLEY_MODULE_DIR, then modules/, ../modules/
// and ../lib/motley/ relative to the folder of the running program.
std::vector<std::string> ModuleFolders();

// The program's cache between runs: $XDG_CACHE_HOME/motley or ~/.cache/motley; empty if there is no
// home folder.
std::string CacheFolder();

struct Module {
  void* library = nullptr;  // From dlopen; null if it could not be loaded.
  std::string path;         // Empty if there is no such file.
  std::string reason;       // Why it could not be loaded.
  bool starved = false;     // The file exists, but this process is out of descriptors or memory.
};
// Loads `file` from the first folder that has it. Any thread.
Module LoadModule(const std::string& file, const std::vector<std::string>& folders);

}  // namespace motley
