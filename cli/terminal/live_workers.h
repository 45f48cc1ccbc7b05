// SPDX-License-Identifier: Apache-2.0
// A table of what the workers do now. It fits into a terminal; the `t` key shows it while a job
// trains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "motley/motley.h"

namespace motley {

// Updated by Look; rates are those of the last seconds. One thread.
class LiveWorkers {
 public:
  struct Row {
    uint32_t worker = 0;
    std::string name;
    const char* state = "";
    double share = 0;               // Fraction of all samples computed in the last seconds.
    double samples_per_second = 0;  // In the last seconds.
    uint64_t late = 0;
  };

  // Records the progress of a job's workers at `seconds` after any fixed moment.
  void Look(double seconds, const std::vector<std::pair<uint32_t, motley_worker_metrics>>& workers);

  const std::vector<Row>& rows() const { return rows_; }

 private:
  struct Seen {
    double seconds;
    std::vector<uint64_t> samples;  // By worker.
  };
  std::deque<Seen> seen_;
  std::vector<Row> rows_;
};

// Returns a line of titles and one line per worker, without line ends. No line is wider than
// `columns` - 1. There are at most `lines` lines; if workers are left out, the last line says how
// many.
std::vector<std::string> FormatWorkers(const std::vector<LiveWorkers::Row>& rows, size_t columns,
                                       size_t lines);

}  // namespace motley
