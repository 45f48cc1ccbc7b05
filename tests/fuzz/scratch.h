// SPDX-License-Identifier: Apache-2.0
// Files for readers that take a path: one folder per process, removed when it ends.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/assert.h"

namespace motley::fuzz {

class Scratch {
 public:
  // Writes `content` to the file `name` and returns its path.
  static std::string Write(const std::string& name, std::string_view content) {
    static Scratch scratch;
    const std::filesystem::path path = scratch.folder_ / name;
    // Some file systems flush a file that is overwritten, which is slow.
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

 private:
  Scratch() {
    const bool in_memory = std::filesystem::is_directory("/dev/shm");
    std::string pattern = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string();
    pattern += "/motley-fuzz-XXXXXX";
    MOTLEY_ASSERT(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_;
};

}  // namespace motley::fuzz
