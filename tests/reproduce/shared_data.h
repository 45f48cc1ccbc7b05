// SPDX-License-Identifier: Apache-2.0
// The folder with recorded traces, where it is.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "test_paths.h"

namespace motley {

// Empty when it is not there.
inline std::string SharedDataFolder() {
  const char* named = std::getenv("MOTLEY_SHARED_DATA");
  const std::string folder = named != nullptr ? named : MOTLEY_SOURCE_DIR "/../shared/data";
  return std::filesystem::exists(folder + "/traces/lambda256.csv.gz") ? folder : "";
}

}  // namespace motley
