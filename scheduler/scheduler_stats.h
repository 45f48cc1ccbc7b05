// SPDX-License-Identifier: Apache-2.0
// Accounting of who computed what, and of what was decided, for reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace motley {

struct WorkerStats {
  double speed = 0;            // Samples per second, as learned.
  double share = 0;            // Part of the data set's work in the current plan, in [0, s + 1].
  uint64_t samples = 0;        // Computed, whether used or not.
  uint64_t steps_in_time = 0;  // Answers that arrived while their step was open.
  // Rows meant for it whose answer did not; of lists of rows, those which others answered first
  // count only where it was overdue.
  uint64_t late = 0;
  uint64_t rejected = 0;           // Refused answers.
  uint64_t placed_partitions = 0;  // Transfers, counted.
  bool joined = false;
  bool lost = false;
  bool left = false;  // It took its leave, and is not lost.
};

// What "auto" chose, and from which step on.
struct CodeChoice {
  StepId step = 0;
  std::string code;
  uint32_t tolerate = 0;
  std::string why;  // For people.
};

struct SchedulerStats {
  uint64_t steps_committed = 0;
  uint64_t replans = 0;          // Plans after the first.
  uint64_t rows_reassigned = 0;  // Rows given to somebody else within a step.
  uint64_t steps_restarted = 0;
  uint32_t tolerates = 0;  // Workers that the present plan can miss; fewer than asked for at times.
  std::vector<WorkerStats> workers;
  std::string code;                 // Of "auto": that is in use.
  std::vector<CodeChoice> choices;  // In order.
};

}  // namespace motley
