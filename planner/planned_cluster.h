// SPDX-License-Identifier: Apache-2.0
// The planner's belief about a cluster: measured speeds and links, and how often things go wrong.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/wire_format.h"
#include "profiles/cost_model.h"
#include "profiles/profile.h"
#include "scheduler/placement/reduction.h"
#include "scheduler/step/step_policy.h"

namespace motley {

struct PlannedWorker {
  CostCurve curve;              // Seconds by samples; each piece of work pays the overhead.
  double jitter = 0;            // Relative standard deviation of its speed from step to step.
  double slow_probability = 0;  // Probability that it is slow in a step.
  double slow_factor = 1;       // It is this many times slower then.
  double loss_probability = 0;  // Probability that it is lost in a step.
  double latency_seconds = 0;   // One way.
  double message_seconds = 0;   // A whole gradient occupies the server's link for this long.
  double send_seconds = 0;      // It occupies the worker's link for this much longer.
  double receive_seconds = 0;   // Parameters for the worker occupy its own link for this long.
  // Parameters for the worker occupy the server's link for this long; nullopt: message_seconds.
  std::optional<double> server_send_seconds;
  bool link_measured = false;  // send_seconds was measured while nothing else was sent.
};

// Observations of every worker in one step (planner/auto/observed_rounds.h).
struct PlannedRound {
  struct Worker {
    double begins_late = 0;         // Delay in seconds besides that of its link.
    double seconds_per_sample = 0;  // 0: not observed, so the usual speed applies.
  };
  std::vector<Worker> workers;
  double seconds = 0;  // Time of the step under the running scheme; 0: unknown.
};

// The vector of a running job. Who takes part in steps does not change who owns it.
struct OwnedVector {
  Exchange exchange;  // Its workers are those of the cluster.
  ShardShares shares;
};

struct PlannedCluster {
  std::vector<PlannedWorker> workers;
  std::vector<PlannedRound> rounds;  // The last rounds of these workers; may be empty.
  double samples = 1;                // Samples per step, > 0.
  double doubt = 0.02;        // Relative standard deviation of true speeds from learned ones.
  double notice_seconds = 0;  // From a loss until the server notices it.
  double gradient_bytes = 0;  // Bytes of one vector on links; 0: it takes them no time.
  double data_seconds = 0;    // For sending every partition of the data once.
  uint64_t remaining_steps = 1;
  // Times of vectors and parameters were only observed while all of them were under way. The part
  // of the server's link in them is then unknown: see WithFewer.
  bool seen_together = false;
  // Where the vector is summed. Without it, on the server: the times of the workers say how long.
  std::optional<ReduceRequest> reduction;
  std::optional<OwnedVector> owned;  // Set if others own it, and links were measured.
  double commit_seconds = 0;         // From the last answer until parameters may leave.
};

// The cluster as it may look if only the `workers` fastest workers take part in steps (0: all do).
// If either a worker's own link or the server's may have been too narrow for all workers, it is
// assumed to be the server's.
PlannedCluster WithFewer(const PlannedCluster& cluster, uint32_t workers);
// One flag per worker: it is one of the `workers` that would be done first with equal shares (0:
// all are). RowPlans chooses in the same way.
std::vector<bool> FastestWorkers(const PlannedCluster& cluster, uint32_t workers);

// Facts about a job that a profile does not contain.
struct PlannedJob {
  double samples = 256;
  double gradient_bytes = 0;  // As float32; 0: the profile's.
  double data_bytes = 0;
  double loss_probability = 0;  // Probability that a worker is lost in a step.
  double notice_seconds = 1;
  uint64_t remaining_steps = 1000;
  std::optional<ReduceMode> reduce;  // Empty: on the server, with nothing to choose.
  uint32_t followers = 1;            // Each range has so many, or all other nodes.
  WireFormat wire = WireFormat::kFloat32;
  bool state = true;  // The optimizer has one, so followers need the sums (docs/decisions/0052).
};
PlannedCluster ClusterOf(const ClusterProfile& profile, const PlannedJob& job);
// The bytes that a vector of so many bytes as float32 takes on links.
double BytesOnWire(WireFormat wire, double bytes);

// The number of partitions into which jobs on this cluster cut their data. It is at most the number
// of samples in a step, but at least one per worker.
uint32_t PartitionsFor(const PlannedCluster& cluster);

// The workers for step policies. They cut their work into pieces as workers of jobs do.
std::vector<StepWorker> StepWorkersOf(const PlannedCluster& cluster, uint32_t partitions);

// A sample of at most `workers` workers that stands for all of them: sorted by speed, one of every
// few neighbours, with the server's link and the batch reduced in proportion. Steps take the same
// time if many workers share the work evenly. (A test checks 256 against 1200 workers: leases agree
// to 5 %, and schemes that wait for each partition's last holder to 10 %.) Times that depend on the
// worst of all workers do not come out the same.
PlannedCluster SampleOf(const PlannedCluster& cluster, uint32_t workers);

}  // namespace motley
