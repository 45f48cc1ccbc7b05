// SPDX-License-Identifier: Apache-2.0
// A plan: the code, the workers that use it, and the expected time of a step. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "scheduler/scheduler.h"

namespace motley {

struct Plan {
  std::shared_ptr<const CodeForm> code;
  std::vector<WorkerId> members;
  // By member, the rows that it answers, in order: one row, or those of the code's lists. No entry
  // is empty.
  std::vector<std::vector<RowId>> rows;
  std::vector<double> speeds;  // Speeds of the members when the plan was made.
  double step_seconds = 0;     // Predicted with those speeds.
  std::optional<Compromise> compromise;

  // The rows of a worker, in order; empty for a worker without rows.
  std::span<const RowId> RowsOf(WorkerId worker) const;
  // True if workers have lists of rows, and copies are one row on several lists.
  bool SeveralRows() const { return !code->lists.empty(); }
  // Partitions of all rows of a member.
  uint64_t LoadOf(size_t member) const;
  // False: other speeds give the same code over the same members.
  bool FollowsSpeeds() const;
};

// The best plan for the options over `members` (not empty, in index order) with `speeds` (> 0, one
// each). It tries the requested code first, then equal loads, then fewer stragglers, then no code.
// Members whose share is less than one partition get no row. kInvalidArgument when nothing serves.
Result<Plan> MakePlan(const SchedulerOptions& options, const std::vector<WorkerId>& members,
                      const std::vector<double>& speeds);

// A single one of those attempts: this code with this many stragglers, or an error. The plan's
// step_seconds are 0.
struct PlanAttempt {
  std::string_view code;
  uint32_t stragglers = 0;
  bool equal = false;  // Loads are equal, whatever the speeds.
  bool draft = false;  // Nobody will decode with it (CodeRequest::draft).
};
Result<Plan> MakePlanOf(const PlanAttempt& attempt, const SchedulerOptions& options,
                        const std::vector<WorkerId>& members, const std::vector<double>& speeds);

// When the slowest answer that is needed arrives: the earliest time at which the rows that are
// ready decode, counting compute only. Workers with lists skip rows that another has done and stop
// rows that another completes. A kept row is done when kept_parts workers have done it.
double PredictStepSeconds(const CodeForm& code, const std::vector<double>& speeds,
                          double samples_per_partition);

// True if a step of `fresh_seconds` instead of `current_seconds` is worth the transfers: the gain
// passes a threshold, and pays for the moves within the remaining steps.
struct ReplanCase {
  double current_seconds = 0;
  double fresh_seconds = 0;
  // The time in which the whole cluster computes the moved partitions once.
  double moved_seconds = 0;
  uint64_t remaining_steps = 0;
  // The time of the transfers, as far as links are known; at least a multiple of moved_seconds.
  double transfer_seconds = 0;
};
bool WorthReplanning(const ReplanCase& numbers);

}  // namespace motley
