// SPDX-License-Identifier: Apache-2.0
// What a training job is, as the server sees it, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "coding/decoder.h"
#include "scheduler/scheduler.h"
#include "training/model.h"
#include "training/optimizer.h"

namespace motley {

struct JobOptions {
  ModelSpec model;
  OptimizerOptions optimizer;
  uint32_t workers = 1;
  uint32_t batch = 256;
  uint64_t steps = 1;
  std::string code = "none";
  uint32_t tolerate = 1;
  Shares shares = Shares::kProportional;
  uint64_t seed = 7;
  // Not 0. Random and never used twice, whatever the seed: it tells this job's frames from those of
  // an earlier one at the same address.
  uint32_t job_id = 0;
  std::string token;  // Workers must show it; not empty.
  Duration start_timeout = std::chrono::seconds(30);
  uint32_t slice_length = 1u << 18;  // Floats (1 MiB).
  double audit_fraction = 0.02;  // Share of steps checked against a direct sum; at least the first.
};

// k for a job: enough fine partitions to share work smoothly, never more than samples.
// kInvalidArgument when there are more workers than samples.
Result<uint32_t> PartitionCount(uint64_t samples, uint32_t workers);

// What a finished (or ended) job leaves.
struct JobResult {
  Status status;
  std::vector<float> parameters;
  uint64_t steps = 0;                // Committed.
  uint64_t discarded_steps = 0;      // Opened, but their update was never applied.
  double wall_seconds = 0;           // From the first step's start to the last commit.
  std::vector<double> step_seconds;  // Commit to commit.
  std::vector<double> batch_loss;    // Mean loss of each step's batch, before its update.
  double max_decode_error = 0;       // ||decoded - direct|| / ||direct|| over audited steps.
  uint64_t audited_steps = 0;
  double max_amplification = 0;
  SchedulerStats scheduler;
  std::vector<uint64_t> held_bytes;  // Per worker, as last reported.
  std::vector<std::string> worker_names;
};

// What happens inside a job, for progress, traces, fault scripts and the simulator's checkers. Loop
// thread; spans are valid during the call. All have empty defaults.
class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void OnWorkerJoined(WorkerId, const std::string& /*name*/) {}
  virtual void OnWorkerLost(WorkerId, const Status& /*why*/) {}
  virtual void OnStepOpened(StepId, const CodeForm&, Time) {}
  virtual void OnRowAssigned(StepId, RowId, WorkerId, Time) {}
  // The whole row is in, in time.
  virtual void OnRowArrived(StepId, RowId, WorkerId, Time) {}
  // `gradient`: the decoded sum (VectorLength floats), before the update; `parameters` of version
  // `step`.
  virtual void OnStepDecoded(StepId, std::span<const float> /*gradient*/,
                             std::span<const float> /*parameters*/, Time) {}
  // `parameters` are those of version step + 1.
  virtual void OnStepApplied(StepId, std::span<const float> /*parameters*/, double /*batch_loss*/,
                             Time) {}
  virtual void OnNotice(const std::string& /*text*/) {}
  virtual void OnCommand(const Command&, Time) {}
};

}  // namespace motley
