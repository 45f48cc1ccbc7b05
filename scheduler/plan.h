// SPDX-License-Identifier: Apache-2.0
// A plan: which code, over which workers, and how long a step should take. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "scheduler/scheduler.h"

namespace motley {

struct Plan {
  std::shared_ptr<const CodeForm> code;
  std::vector<WorkerId> members;  // Row i is worker members[i]'s.
  std::vector<double> speeds;     // Of the members, when it was made.
  double step_seconds = 0;        // Predicted with those speeds.
  std::string compromise;         // What it could not give of what was asked, and why; for people.

  // The row of a worker, if it has one with something in it.
  std::optional<RowId> RowOf(WorkerId worker) const;
  // False: other speeds give the same code over the same members.
  bool FollowsSpeeds() const;
};

// The best plan for the options over `members` (not empty, in index order) with `speeds` (> 0, one
// each). Tries what was asked first, then equal loads, then fewer stragglers, then no code.
// Members whose share is less than one partition are left without a row. kInvalidArgument when
// nothing serves.
Result<Plan> MakePlan(const SchedulerOptions& options, const std::vector<WorkerId>& members,
                      const std::vector<double>& speeds);

// When the slowest answer that is needed arrives: the earliest time at which the rows that are
// ready decode, counting compute only.
double PredictStepSeconds(const CodeForm& code, const std::vector<double>& speeds,
                          double samples_per_partition);

// Whether a step that takes `fresh_seconds` instead of `current_seconds` is worth the transfers:
// the gain passes a threshold, and pays back what moves within the steps that remain.
struct ReplanCase {
  double current_seconds = 0;
  double fresh_seconds = 0;
  double moved_seconds = 0;  // What computing the moved partitions once takes the whole cluster.
  uint64_t remaining_steps = 0;
  // What the transfers take, where links are known; else a multiple of moved_seconds stands for it.
  std::optional<double> transfer_seconds;
};
bool WorthReplanning(const ReplanCase& numbers);

}  // namespace motley
