// SPDX-License-Identifier: Apache-2.0
// Recorded times of real workers, for replay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

inline constexpr std::string_view kWorkerTraceColumns = "load,round,worker,seconds";

// Seconds of each worker in each round in which it had a fraction `load` of all the work.
struct WorkerTrace {
  uint32_t rounds = 0;
  uint32_t workers = 0;
  std::vector<double> loads;    // Ascending.
  std::vector<double> seconds;  // loads x rounds x workers.

  double Seconds(size_t load, uint32_t round, uint32_t worker) const {
    return seconds[(load * rounds + round) * workers + worker];
  }
  // Time at any load: linear between and beyond recorded loads, and never below that of a smaller
  // load.
  double At(double load, uint32_t round, uint32_t worker) const;
  // Increase of the mean time per unit of load, by least squares over all loads.
  double SecondsPerLoad() const;
  // Times of the workers in a round with `load` (a fraction of all the work) each: the first load's
  // times plus the slope times the difference in load.
  std::vector<double> Round(uint32_t round, double load) const;
};

// Reads CSV (also gzipped) with the columns load, round, worker, seconds, one line for every
// combination. kNotFound; kDataError with the line; see data/files/byte_stream.h.
Result<WorkerTrace> ReadWorkerTrace(const std::string& path);

// The trace of 256 cloud workers in the data folder; kNotFound says what to do.
Result<WorkerTrace> ReadLambdaTrace(const std::string& data_folder);

}  // namespace motley
