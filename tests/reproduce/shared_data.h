// SPDX-License-Identifier: Apache-2.0
// Finds the folder with recorded traces.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "test_paths.h"

namespace motley {

// Empty if there is no such folder.
inline std::string SharedDataFolder() {
  const char* named = std::getenv("MOTLEY_SHARED_DATA");
  const std::string folder = named != nullptr ? named : MOTLEY_SOURCE_DIR "/../shared/data";
  return std::filesystem::exists(folder + "/traces/lambda256.csv.gz") ? folder : "";
}

}  // namespace motley
