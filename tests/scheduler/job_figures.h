// SPDX-License-Identifier: Apache-2.0
// Helpers shared by tests of whole jobs in virtual time.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"

namespace motley {

// Options with 16 partitions and 64 samples of a step for each worker.
inline SchedulerOptions JobOf(uint32_t workers, const std::string& code, uint64_t steps,
                              uint32_t tolerate = 1) {
  SchedulerOptions options;
  options.workers = workers;
  options.partitions = workers * 16;
  options.code = code;
  options.tolerate = tolerate;
  options.batch = workers * 64;
  options.steps = steps;
  options.parts = std::max(tolerate + 1, std::min(workers, tolerate + 2)) - tolerate;
  return options;
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

inline std::vector<double> Slice(const std::vector<double>& values, size_t begin, size_t end) {
  return {values.begin() + static_cast<std::ptrdiff_t>(begin),
          values.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Time of a step of perfectly divisible work.
inline double Ideal(const SchedulerOptions& options, const std::vector<double>& speeds) {
  return options.batch / std::accumulate(speeds.begin(), speeds.end(), 0.0);
}

}  // namespace motley
