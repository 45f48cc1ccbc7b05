// SPDX-License-Identifier: Apache-2.0
// What `motley train` and `motley simulate` have in common: flags, and the job that they describe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "runtime/fault_plan.h"
#include "runtime/job.h"

namespace motley {

// As given on the command line.
struct JobFlags {
  std::string model = "softmax";
  uint32_t workers = 0;     // 0: not given.
  std::string speeds;       // "1,1,0.5"; empty: not given.
  std::string sample_time;  // "2ms"; empty: not given.
  std::string shares = "proportional";
  std::string code = "none";
  uint32_t tolerate = 1;
  uint32_t batch = 256;
  uint32_t epochs = 5;
  uint64_t steps = 0;  // 0: as many as `epochs` has.
  OptimizerOptions optimizer;
  uint64_t seed = 7;
  std::vector<std::string> faults;
  std::string trace;
  bool json = false;
  bool quiet = false;
};

// The same, understood. The model's features and classes are still open.
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

inline constexpr uint32_t kMostLocalWorkers = 256;  // Processes on one machine.
inline constexpr uint32_t kMostSimulatedWorkers = 4096;

// Checks what can be checked without data: names, counts, speeds, the code against the workers.
// `workers_elsewhere`: how many a cluster file has, 0 for none. `most_workers`: at most
// kMostSimulatedWorkers. kInvalidArgument throughout.
Result<JobPlan> PlanJob(const JobFlags& flags, uint32_t workers_elsewhere,
                        uint32_t most_workers = kMostSimulatedWorkers);
// Adds what depends on the number of samples: steps, faults against them, enough partitions.
Status FitToData(const JobFlags& flags, uint64_t samples, JobPlan& plan);

}  // namespace motley
