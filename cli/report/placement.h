// SPDX-License-Identifier: Apache-2.0
// Words for where a job's vector is summed, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/placement/reduction.h"

namespace motley {

// What --reduce can be, for --help.
std::string ReduceHelp();

// Texts for a vector of `bytes` bytes among workers with these names.
struct PlacedVector {
  double bytes = 0;
  std::vector<std::string> workers;
  uint32_t servers = 0;  // With sharded:S. Some of them may get no range.

  // "--reduce direct: the workers sum the vector of 4 MB ...", with the reason; ends with a
  // newline.
  std::string Text(const ReduceChoice& choice) const;
  // "desktop 25.0 %, gpu 75.0 %"; empty for the star.
  std::string Shares(const ReduceChoice& choice) const;
};

}  // namespace motley
