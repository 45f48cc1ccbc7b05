// SPDX-License-Identifier: Apache-2.0
// What the processes of motley-sum have in common.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace motley {

struct SumTask {
  uint32_t workers = 4;
  size_t length = 0;
  uint64_t repetitions = 9;
  uint64_t warmups = 2;  // Repetitions that come first and are not counted.
  size_t threads = 1;    // Threads of the server's decoder.
  std::string listen = "127.0.0.1:0";
};

// The monotonic clock is the same for all processes of the machine, so their times are comparable.
inline uint64_t NowNs() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Whole numbers, so that every order of summation gives the same result.
inline float ValueOf(size_t index, uint32_t worker, uint64_t step) {
  return static_cast<float>(index % 1021 + worker + step % 7);
}

// Prints the reason and ends the process.
[[noreturn]] void Die(const std::string& why);

// Ends the process unless this is the sum of all workers' values.
void CheckSum(const SumTask& task, const std::vector<float>& sum, uint64_t step);

// Prints one JSON object. `seconds` has those that count. `more` are further members.
void PrintTimes(const SumTask& task, std::vector<double> seconds, const std::string& more);

}  // namespace motley
