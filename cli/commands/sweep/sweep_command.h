// SPDX-License-Identifier: Apache-2.0
// `motley sweep` trains one model with many values of flags, and shows which are best.
#pragma once

#include <string>
#include <vector>

namespace motley {

struct SweepFlags {
  std::string file;  // The search (TOML).
  std::string out;   // Folder of the results; empty: the file's name with ".out".
  std::string plot;  // SVG file; empty: none.
  std::string grace = "30s";
  bool json = false;
  bool quiet = false;
  std::vector<std::string> (*train_flags)() = nullptr;  // All flags of motley train, without "--".
};

// Returns the exit code.
int RunSweep(const SweepFlags& flags);

}  // namespace motley
