// SPDX-License-Identifier: Apache-2.0
// `motley codes` shows a gradient code for given speeds.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace motley {

struct CodesFlags {
  std::string speeds;    // "2,2,4"; empty: `workers` equal ones.
  uint32_t workers = 0;  // 0: not given.
  std::string code = "heterogeneous";
  uint32_t tolerate = 1;
  uint32_t parts = 0;       // 0: not given.
  uint32_t partitions = 0;  // 0: chosen.
  uint64_t seed = 7;
  bool json = false;
};

// Returns the exit code.
int RunCodes(const CodesFlags& flags);

// The number of partitions. Each worker has a share of the s + 1 copies, in proportion to its
// speed. The result is the smallest number, at least one per worker and at most 64, for which all
// shares are whole numbers. If there is none, it is four per worker.
uint32_t ChoosePartitions(std::span<const double> speeds, uint32_t tolerate);

}  // namespace motley
