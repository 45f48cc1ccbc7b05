// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/sum_task.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "fmt/core.h"

namespace motley {

[[noreturn]] void Die(const std::string& why) {
  fmt::print(stderr, "motley-sum: {}\n", why);
  _exit(1);
}

void CheckSum(const SumTask& task, const std::vector<float>& sum, uint64_t step) {
  const float indices = static_cast<float>(task.workers * (task.workers - 1) / 2);
  for (size_t i = 0; i < task.length; ++i) {
    const float expected = static_cast<float>(task.workers) * ValueOf(i, 0, step) + indices;
    if (sum[i] != expected) Die(fmt::format("{} instead of {} at {}", sum[i], expected, i));
  }
}

void PrintTimes(const SumTask& task, std::vector<double> seconds, const std::string& more) {
  std::sort(seconds.begin(), seconds.end());
  fmt::print(
      "{{\"workers\": {}, \"megabytes\": {}, \"median_ms\": {:.3f}, \"best_ms\": {:.3f}{}}}\n",
      task.workers, static_cast<double>(task.length) * sizeof(float) * 1e-6,
      seconds[seconds.size() / 2] * 1e3, seconds.front() * 1e3, more);
  std::fflush(stdout);
}

}  // namespace motley
