// SPDX-License-Identifier: Apache-2.0
// What a request asks for, understood and checked: real and simulated jobs begin here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/request/job_request.h"
#include "base/status.h"
#include "base/time.h"
#include "runtime/fault_plan.h"
#include "runtime/job.h"

namespace motley {

// The model's features and classes, and what depends on the number of samples, are still open
// until FitToData.
struct JobPlan {
  JobOptions job;
  std::vector<double> speeds;           // One per worker; empty: no emulation.
  std::optional<Duration> sample_time;  // Modelled time of a sample at speed 1.
  std::vector<Fault> faults;
  uint64_t samples = 0;
  uint64_t steps_per_epoch = 1;

  double epochs() const { return Epochs(job.steps); }
  double Epochs(uint64_t steps) const { return static_cast<double>(steps) / steps_per_epoch; }
  // Samples of the first `steps` batches together.
  uint64_t SamplesIn(uint64_t steps) const;
};

inline constexpr uint32_t kMostLocalWorkers = 256;  // On one machine.
// That a job waits for workers which people start elsewhere, until it has as many as it needs,
inline constexpr Duration kPeoplesTime = std::chrono::minutes(10);
// and then for the others, unless told otherwise.
inline constexpr Duration kGatherTime = std::chrono::seconds(30);
inline constexpr uint32_t kUsualWorkers = 2;        // Where nothing says how many.
inline constexpr uint32_t kUsualServedWorkers = 8;  // At most, of a server.
inline constexpr uint32_t kMostWorkers = 1024;      // Of a server.
inline constexpr uint32_t kMostSimulatedWorkers = kMostWorkers;

// Checks what can be checked without data: names, counts, speeds, the code against the workers.
// `workers_elsewhere`: how many a cluster file has, 0 for none. `most_workers`: at most
// kMostSimulatedWorkers. kInvalidArgument throughout.
Result<JobPlan> PlanJob(const JobRequest& request, uint32_t workers_elsewhere,
                        uint32_t most_workers = kMostSimulatedWorkers);
// PlanJob for a job that is to run here, with what only the simulator could do refused.
Result<JobPlan> PlanRealJob(const JobRequest& request);
// Adds what depends on the number of samples: steps, faults against them, enough partitions.
Status FitToData(const JobRequest& request, uint64_t samples, JobPlan& plan);

}  // namespace motley
