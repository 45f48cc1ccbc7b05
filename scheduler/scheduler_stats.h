// SPDX-License-Identifier: Apache-2.0
// Figures for reports: what each worker computed, and what was decided.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "scheduler/choice_reason.h"

namespace motley {

struct WorkerStats {
  double speed = 0;            // Samples per second, as learned.
  double share = 0;            // Part of the data set's work in the current plan, in [0, s + 1].
  uint64_t samples = 0;        // Computed, whether used or not.
  uint64_t steps_in_time = 0;  // Answers that arrived while their step was open.
  // Rows meant for the worker that it did not answer, but for those that were held. In a list of
  // rows, a row that another worker answered first counts only if it was overdue.
  uint64_t late = 0;
  uint64_t rejected = 0;           // Refused answers.
  uint64_t placed_partitions = 0;  // Number of partitions sent to it.
  bool joined = false;
  bool lost = false;
  bool left = false;  // The worker left by itself and is not lost.
};

// The choice of code "auto", and the first step with it.
struct CodeChoice {
  StepId step = 0;
  std::string code;
  uint32_t tolerate = 0;
  ChoiceReason why;
};

struct SchedulerStats {
  uint64_t steps_committed = 0;
  uint64_t replans = 0;          // Plans after the first.
  uint64_t rows_reassigned = 0;  // Rows given to another worker within a step.
  uint64_t steps_restarted = 0;
  // Answers that were held where the link is thin: those that no step needed, and those that left
  // later because others did not come.
  uint64_t answers_held = 0;
  uint64_t held_answers_sent = 0;
  // Workers that the present plan can miss; sometimes fewer than asked for.
  uint32_t tolerates = 0;
  std::vector<WorkerStats> workers;
  std::string code;                 // With "auto", the code in use.
  std::vector<CodeChoice> choices;  // In order.
};

}  // namespace motley
