// SPDX-License-Identifier: Apache-2.0
// The result of a job as one JSON object.
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
  // Empty for a trainer's model and for a failed job. Also empty when an evaluation would take long
  // and was not requested: for `train`, and for `test` of a job that was stopped.
  std::optional<Evaluation> train;
  std::optional<Evaluation> test;
  std::string not_tested = "";  // Why `test` is empty although there are test samples.
  std::optional<Emulation> emulation;
  std::string recorded_in = "";  // "": no recording was requested.
  Status recorded = Status::Ok();
  double loss_unit = 1;              // See PreparedData::loss_unit.
  std::vector<std::string> classes;  // Names; empty: unknown, or labels are real numbers.
  std::string reduction = "";        // EventStream::reduction
};

std::string TrainJson(const TrainReport& report);

// The report's `reduce`: which nodes sum the vector of a job. `said` is its EventStream::reduction.
std::string ReduceJson(const JobOptions& job, const std::string& said);

// The mean loss of the samples in the last epoch's steps, as far as these losses are known. Each
// sample's loss is taken before the update of its step. Empty if no step was done.
std::optional<double> LastEpochLoss(const JobPlan& plan, const JobResult& job);

// One worker, over one or several runs.
struct WorkerLine {
  uint32_t worker = 0;  // The worker's number.
  std::string name;
  double relative_speed = 0;  // Measured speed over that of the fastest worker.
  double share = 0;           // Fraction of all computed samples, replicas included.
  double share_at_end = 0;    // Fraction of a step's work in the last plan.
  double samples = 0;         // Average number of samples computed per epoch.
  double steps_in_time = 0;
  double late = 0;
  uint64_t rejected = 0;
  uint64_t transfers = 0;  // Partitions sent to the worker.
  uint64_t held_bytes = 0;
  bool lost = false;
  bool left = false;  // The worker left by itself.
};
// One line per worker number. A server's lines end with the last worker that ever joined.
std::vector<WorkerLine> WorkerLines(const JobPlan& plan, const JobResult& job);

// The smallest value that at least `fraction` of the values do not exceed; 0 for none.
double Quantile(std::vector<double> values, double fraction);
double Mean(const std::vector<double>& values);

}  // namespace motley
