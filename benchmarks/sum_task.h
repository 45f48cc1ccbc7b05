// SPDX-License-Identifier: Apache-2.0
// What the processes of motley-sum have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/wire_format.h"
#include "runtime/links/slicing.h"

namespace motley {

struct SumTask {
  uint32_t workers = 4;
  size_t length = 0;
  uint64_t repetitions = 9;
  uint64_t warmups = 2;  // Repetitions that come first and are not counted.
  size_t threads = 1;    // Threads of the server's decoder.
  std::string listen = "127.0.0.1:0";
  WireFormat wire = WireFormat::kFloat32;  // How vectors travel in a direct sum.
};

// The monotonic clock is the same for all processes of the machine, so their times are comparable.
inline uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Whole numbers, so that every order of summation gives the same result. Those of neighbouring
// steps differ by more than a rounded sum may.
inline float ValueOf(size_t index, uint32_t worker, uint64_t step) {
  return static_cast<float>(index % 1021 + worker + 997 * (step % 7));
}

// Prints the reason and ends the process.
[[noreturn]] void Die(const std::string& why);

// The first place where this is not the sum of all workers' values. The sum has travelled in the
// slices of `cut`. float32 has to be exact. In another format each of n answers, and then the sum,
// may be off by the format's largest error, which is a part of the largest value of a block:
//
//   int8, 4 answers, each with 1000 as the largest value of the block
//     answers 4 * 1000 / 127 = 31.5    sum (4000 + 31.5) / 127 = 31.7    tolerance 63.2
std::optional<size_t> FirstWrong(const SumTask& task, const std::vector<float>& sum, uint64_t step,
                                 const Slicing& cut);

// Ends the process if a value is wrong.
void CheckSum(const SumTask& task, const std::vector<float>& sum, uint64_t step,
              const Slicing& cut);

// Prints one JSON object. `seconds` has those that count. `more` are further members.
void PrintTimes(const SumTask& task, std::vector<double> seconds, const std::string& more);

}  // namespace motley
