// SPDX-License-Identifier: Apache-2.0
// What a job came to, as one JSON object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/request/job_plan.h"
#include "api/workers/emulation.h"
#include "runtime/job.h"
#include "training/models/evaluate.h"

namespace motley {

struct TrainReport {
  const JobPlan& plan;
  const JobResult& job;
  // Not for a trainer's model, a job that failed, or, unless it was asked for, where it would take
  // long (train, and test when the job was stopped).
  std::optional<Evaluation> train;
  std::optional<Evaluation> test;
  std::string not_tested = "";  // Why there are test samples and no `test`; empty: it is not so.
  std::optional<Emulation> emulation;
  std::string recorded_in = "";  // Empty: nowhere, as was wanted.
  Status recorded = Status::Ok();
  double loss_unit = 1;              // See PreparedData::loss_unit.
  std::vector<std::string> classes;  // Names; none: not known, or labels are real numbers.
};

std::string TrainJson(const TrainReport& report);

// The mean loss of the samples of the last epoch's steps, or of as many as there were, each before
// its step's update. Nothing when no step was done.
std::optional<double> LastEpochLoss(const JobPlan& plan, const JobResult& job);

// One worker, over one or several runs.
struct WorkerLine {
  uint32_t worker = 0;  // Its number.
  std::string name;
  double relative_speed = 0;  // Of the fastest worker's, as learned.
  double share = 0;           // Part of the samples that it computed, replicas included.
  double share_at_end = 0;    // The same of its work of a step, in the plan at the end.
  double samples = 0;         // Computed per epoch, on average.
  double steps_in_time = 0;
  double late = 0;
  uint64_t rejected = 0;
  uint64_t transfers = 0;  // Partitions sent to it.
  uint64_t held_bytes = 0;
  bool lost = false;
  bool left = false;  // It took its leave.
};
// One for each number. Of a server, without those after the last worker that ever came.
std::vector<WorkerLine> WorkerLines(const JobPlan& plan, const JobResult& job);

// The smallest value that at least `fraction` of the values do not exceed; 0 for none.
double Quantile(std::vector<double> values, double fraction);
double Mean(const std::vector<double>& values);

}  // namespace motley
