// SPDX-License-Identifier: Apache-2.0
// What each worker does at present, as a table that fits a terminal: the `t` key shows it while a
// job trains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "motley/motley.h"

namespace motley {

// Looked at now and then; rates are those of the last seconds. One thread.
class LiveWorkers {
 public:
  struct Row {
    uint32_t worker = 0;
    std::string name;
    const char* state = "";
    double share = 0;               // Of what all compute.
    double samples_per_second = 0;  // Both in the last seconds.
    uint64_t late = 0;
  };

  // What a job's workers have done by now, `seconds` after any fixed moment.
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

// A line of titles and one for each worker, none wider than `columns` - 1, without their ends. At
// most `lines` of them, the last of which then tells how many are left out.
std::vector<std::string> FormatWorkers(const std::vector<LiveWorkers::Row>& rows, size_t columns,
                                       size_t lines);

}  // namespace motley
