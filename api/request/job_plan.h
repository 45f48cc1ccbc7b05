// SPDX-License-Identifier: Apache-2.0
// A request, parsed and checked. Real and simulated jobs begin with it.
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

// FitToData fills in the model's features and classes, and what depends on the number of samples.
struct JobPlan {
  JobOptions job;
  std::vector<double> speeds;           // Emulated, one per worker; empty: no emulation.
  std::optional<Duration> sample_time;  // Modelled time of a sample at speed 1.
  std::vector<Fault> faults;
  // How much larger decoding makes the variance of rounded answers; 1 if nothing is weighed.
  double rounding_noise = 1;
  uint64_t samples = 0;
  uint64_t steps_per_epoch = 1;

  double epochs() const { return Epochs(job.steps); }
  double Epochs(uint64_t steps) const { return static_cast<double>(steps) / steps_per_epoch; }
  // Samples of the first `steps` batches together.
  uint64_t SamplesIn(uint64_t steps) const;
};

inline constexpr uint32_t kMostLocalWorkers = 256;  // Limit for one machine.
// A server waits this long for the workers that it needs to begin.
inline constexpr Duration kPeoplesTime = std::chrono::minutes(10);
// If `workers` is given without `wait`, it then waits this long for the rest.
inline constexpr Duration kGatherTime = std::chrono::seconds(30);
inline constexpr uint32_t kUsualWorkers = 2;        // Default of all-in-one jobs.
inline constexpr uint32_t kUsualServedWorkers = 8;  // Default limit of a server.
inline constexpr uint32_t kMostWorkers = 1024;      // Largest limit of a server.
inline constexpr uint32_t kMostSimulatedWorkers = kMostWorkers;

// Checks all options that can be checked without data: names, counts, speeds, and the code against
// the number of workers. `workers_elsewhere` is the number of workers in a cluster file; 0: no
// file. `most_workers` is at most kMostSimulatedWorkers. kInvalidArgument for every failure.
Result<JobPlan> PlanJob(const JobRequest& request, uint32_t workers_elsewhere,
                        uint32_t most_workers = kMostSimulatedWorkers);
// The value of an option named `option`, as in ParseReduce. Sums of collective/ are refused with
// the reason (docs/decisions/0054-jobs-use-no-collectives.md).
Result<ReduceMode> ReadReduce(const std::string& option, const std::string& reduce);
// Sets who holds the vector, for a job with all its workers known. `here`: all of them are in this
// process, so no links are worth measuring. kInvalidArgument: no job can place its vector so.
Status PlanReduction(const JobRequest& request, bool here, JobOptions& job);
// Like PlanJob, for a job that runs here. Refuses options that only the simulator supports.
Result<JobPlan> PlanRealJob(const JobRequest& request);
// Sets and checks everything that depends on the number of samples: steps, the steps of faults, and
// whether there are enough partitions.
Status FitToData(const JobRequest& request, uint64_t samples, JobPlan& plan);

}  // namespace motley
