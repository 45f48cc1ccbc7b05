// SPDX-License-Identifier: Apache-2.0
// Ranks schemes for a cluster. Every scheme, with every sensible number of copies, runs a few steps
// on the step model, with and without stragglers and losses. These count by their observed
// probability, and the scheme with the shortest mean step comes first. Pure and deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "planner/planned_cluster.h"
#include "planner/scheme_cost.h"

namespace motley {

struct Candidate {
  std::string scheme;
  uint32_t copies = 1;
  uint32_t workers = 0;  // For rows: only this many of the fastest workers take part; 0: all.

  bool operator==(const Candidate&) const = default;
};

struct PlannedScheme {
  Candidate candidate;
  bool exact = true;           // False: it leaves an error, and is never chosen automatically.
  SchemeCost cost;             // Seconds per step.
  double placing_seconds = 0;  // Time of sending copies to their holders, per remaining step.
  double premium = 0;          // Extra time of undisturbed steps over the best exact scheme's:
                               // 0.05 is 5 % more.
  std::string refused;         // Why the scheme cannot serve; empty: it can.
  std::string why;             // One line: its price and its benefit.

  double Total() const { return cost.expected + placing_seconds; }
};

struct PlanOptions {
  uint32_t partitions = 0;  // 0: PartitionsFor.
  uint32_t most_copies = 3;
  CostRuns runs;
  // With more workers, schemes with leases are tried on a sample, because leases even workers out.
  uint32_t most_whole = 256;
};

struct Ranking {
  // Exact schemes that serve, the best first; then schemes that leave an error; then refused ones.
  std::vector<PlannedScheme> schemes;
  uint32_t partitions = 0;
  uint64_t events = 0;  // Events of the step model for all schemes together.
};

// The candidates for this many workers, in the order of Schemes(). Above 512 workers they leave
// out codes with equal shares and codes whose construction searches.
std::vector<Candidate> CandidatesFor(size_t workers, uint32_t most_copies);

// Candidates with rows for only as many workers as suit the server's link, if that promises much
// shorter steps. Each worker that takes part occupies that link with its parameters and its vector.
std::vector<Candidate> FewerWorkers(const PlannedCluster& cluster);

// "adaptive 2", "none 1, 4 workers"
std::string ShortNameOf(const Candidate& candidate);

// kInvalidArgument without workers, or if no exact scheme serves.
Result<Ranking> RankSchemes(const PlannedCluster& cluster, const PlanOptions& options);

// The two halves of RankSchemes, for callers that cannot wait for all of it. TryScheme tries one
// candidate (options.partitions > 0); RankTried orders the tried ones (at least one).
PlannedScheme TryScheme(const Candidate& candidate, const PlannedCluster& cluster,
                        const PlanOptions& options);
Result<Ranking> RankTried(std::vector<PlannedScheme> tried, uint32_t partitions);

// Replaces the step model's time of steps without a loss by an observed one. The other times of the
// scheme change accordingly. Call RankTried afterwards to order the schemes.
void CorrectTo(double step_seconds, const PlannedCluster& cluster, PlannedScheme& planned);

// The time of sending the data that `to` needs and `from` has not placed. Copies of schemes that
// balance (proportional, adaptive) are nested: a placement with r copies of each partition contains
// the one with r - 1. Codes have their own placements.
double SwitchSeconds(const Candidate& from, const Candidate& to, const PlannedCluster& cluster);

// Copies must gain at least this much per step. The step model leaves out the server's own work on
// messages, and workers that share processors. (Measured: 1.5 ms per step instead of 0.8 ms, where
// the model predicted a gain.)
constexpr double kLeastGainSeconds = 2e-3;

}  // namespace motley
