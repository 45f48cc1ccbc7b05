// SPDX-License-Identifier: Apache-2.0
// A cluster as the planner believes it to be: what was measured, and how often it goes wrong. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profiles/cost_model.h"
#include "profiles/profile.h"
#include "scheduler/step/step_policy.h"

namespace motley {

struct PlannedWorker {
  CostCurve curve;              // Of samples; the overhead is paid for every piece of work.
  double jitter = 0;            // Relative standard deviation of its speed from step to step.
  double slow_probability = 0;  // Of a step in which it is
  double slow_factor = 1;       // so many times slower.
  double loss_probability = 0;  // Of being lost in a step.
  double latency_seconds = 0;   // One way.
  double message_seconds = 0;   // A whole gradient occupies the server's link,
  double send_seconds = 0;      // and its own for so much longer.
  double receive_seconds = 0;   // The parameters occupy its own link, on their way to it.
  // And the server's; nothing: as long as a gradient does.
  std::optional<double> server_send_seconds;
  bool link_measured = false;  // send_seconds is what one takes while nothing else is sent.
};

// What was seen of every worker in one step (planner/auto/observed_rounds.h).
struct PlannedRound {
  struct Worker {
    double begins_late = 0;         // Seconds, besides what its link takes.
    double seconds_per_sample = 0;  // 0: not seen, so as usual.
  };
  std::vector<Worker> workers;
  double seconds = 0;  // That the step took under the scheme that runs; 0: not known.
};

struct PlannedCluster {
  std::vector<PlannedWorker> workers;
  std::vector<PlannedRound> rounds;  // The last ones, of these workers; empty: none were seen.
  double samples = 1;                // Of a step, > 0.
  double doubt = 0.02;        // Relative standard deviation of speeds from what jobs learn of them.
  double notice_seconds = 0;  // From a loss until the server knows.
  double gradient_bytes = 0;  // Of one vector; 0: it takes the links no time.
  double data_seconds = 0;    // For sending every partition of the data to somebody once.
  uint64_t remaining_steps = 1;
  // What was seen of vectors' times, and parameters', was seen while all of them were under way, so
  // that nobody knows how much of it was the server's link: see WithFewer.
  bool seen_together = false;
};

// How it may be if no more than so many workers take part in steps (0: all do), the fastest: where
// it is not known whether a worker's own link or the server's was too narrow for all of them, the
// server's was.
PlannedCluster WithFewer(const PlannedCluster& cluster, uint32_t workers);
// One flag each: whether it is among so many of the fastest.
std::vector<bool> FastestWorkers(const PlannedCluster& cluster, uint32_t workers);

// What a profile does not say.
struct PlannedJob {
  double samples = 256;
  double gradient_bytes = 0;  // 0: as in the profile.
  double data_bytes = 0;
  double loss_probability = 0;  // Of each worker in a step.
  double notice_seconds = 1;
  uint64_t remaining_steps = 1000;
};
PlannedCluster ClusterOf(const ClusterProfile& profile, const PlannedJob& job);

// Into how many partitions jobs on this cluster cut their data; no more than a step has samples.
uint32_t PartitionsFor(const PlannedCluster& cluster);

// Workers as step policies know them, which cut their work as the workers of jobs do.
std::vector<StepWorker> StepWorkersOf(const PlannedCluster& cluster, uint32_t partitions);

// So many workers (at most as many as there are) that are to a step what all of them are: sorted by
// speed, one of every few neighbours, with the server's link and the batch cut down in proportion.
// What many share evenly comes out the same (a test holds leases to 5 % between 256 and 1200
// workers, and schemes that wait for each partition's last holder to 10 %); what hangs on the worst
// of all workers does not.
PlannedCluster SampleOf(const PlannedCluster& cluster, uint32_t workers);

}  // namespace motley
