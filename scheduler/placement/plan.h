// SPDX-License-Identifier: Apache-2.0
// A plan: which code, over which workers, and how long a step should take. Pure.
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
  // By member, the rows that it answers, in order: one, or those of the code's lists. None of them
  // is empty.
  std::vector<std::vector<RowId>> rows;
  std::vector<double> speeds;  // Of the members, when it was made.
  double step_seconds = 0;     // Predicted with those speeds.
  std::optional<Compromise> compromise;

  // The rows of a worker, in order; empty for who has none.
  std::span<const RowId> RowsOf(WorkerId worker) const;
  // Workers have lists of rows, and copies are one row on several lists.
  bool SeveralRows() const { return !code->lists.empty(); }
  // Partitions that all rows of a member have.
  uint64_t LoadOf(size_t member) const;
  // False: other speeds give the same code over the same members.
  bool FollowsSpeeds() const;
};

// The best plan for the options over `members` (not empty, in index order) with `speeds` (> 0, one
// each). Tries what was asked first, then equal loads, then fewer stragglers, then no code.
// Members whose share is less than one partition are left without a row. kInvalidArgument when
// nothing serves.
Result<Plan> MakePlan(const SchedulerOptions& options, const std::vector<WorkerId>& members,
                      const std::vector<double>& speeds);

// The first of those attempts alone: this code with so many stragglers, or nothing. Its
// step_seconds are 0.
struct PlanAttempt {
  std::string_view code;
  uint32_t stragglers = 0;
  bool equal = false;  // Loads, whatever the speeds.
  bool draft = false;  // Nobody is to decode with it (CodeRequest::draft).
};
Result<Plan> MakePlanOf(const PlanAttempt& attempt, const SchedulerOptions& options,
                        const std::vector<WorkerId>& members, const std::vector<double>& speeds);

// When the slowest answer that is needed arrives: the earliest time at which the rows that are
// ready decode, counting compute only. Of workers with lists nobody begins what another has done,
// and whoever is at it stops; kept rows are done when kept_parts have done them.
double PredictStepSeconds(const CodeForm& code, const std::vector<double>& speeds,
                          double samples_per_partition);

// Whether a step that takes `fresh_seconds` instead of `current_seconds` is worth the transfers:
// the gain passes a threshold, and pays back what moves within the steps that remain.
struct ReplanCase {
  double current_seconds = 0;
  double fresh_seconds = 0;
  double moved_seconds = 0;  // What computing the moved partitions once takes the whole cluster.
  uint64_t remaining_steps = 0;
  // What the transfers take, as far as links are known; at least a multiple of moved_seconds.
  double transfer_seconds = 0;
};
bool WorthReplanning(const ReplanCase& numbers);

}  // namespace motley
