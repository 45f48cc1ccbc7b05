// SPDX-License-Identifier: Apache-2.0
// Recorded times of real workers, to be replayed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

inline constexpr std::string_view kWorkerTraceColumns = "load,round,worker,seconds";

// Seconds that each worker took in each round when it had a part `load` of all the work.
struct WorkerTrace {
  uint32_t rounds = 0;
  uint32_t workers = 0;
  std::vector<double> loads;    // Ascending.
  std::vector<double> seconds;  // loads x rounds x workers.

  double Seconds(size_t load, uint32_t round, uint32_t worker) const {
    return seconds[(load * rounds + round) * workers + worker];
  }
  // The same at any load: straight between two recorded ones and beyond the last, and never less
  // than at a smaller one.
  double At(double load, uint32_t round, uint32_t worker) const;
  // What one unit of load adds to the mean time, by least squares over all loads.
  double SecondsPerLoad() const;
  // What the workers would have taken in a round with `load` (a part of all the work) each: the
  // first load's times, moved by the difference in load.
  std::vector<double> Round(uint32_t round, double load) const;
};

// Reads CSV with the columns load, round, worker, seconds (also gzipped), one line for every
// combination. kNotFound, kDataError with the line, as of data/files/byte_stream.h.
Result<WorkerTrace> ReadWorkerTrace(const std::string& path);

// The trace of 256 cloud workers in the folder of data; kNotFound says what to do.
Result<WorkerTrace> ReadLambdaTrace(const std::string& data_folder);

}  // namespace motley
