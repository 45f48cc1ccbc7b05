// SPDX-License-Identifier: Apache-2.0
// Chooses how steps are worked off: every scheme with every number of copies that makes sense runs
// a few steps on the step model of the cluster, with and without stragglers and losses as often as
// they were seen, and the one whose steps take least on average is first. Pure and deterministic.
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
  uint32_t workers = 0;  // Of rows: that many of the fastest take part; 0: all.

  bool operator==(const Candidate&) const = default;
};

struct PlannedScheme {
  Candidate candidate;
  bool exact = true;           // False: an error is left, and it is never chosen by itself.
  SchemeCost cost;             // Seconds per step.
  double placing_seconds = 0;  // Per remaining step, for sending copies to where they belong.
  double premium = 0;          // Undisturbed, over the best exact scheme's: 0.05 is 5 % more.
  std::string refused;         // Why it cannot be; empty: it can.
  std::string why;             // One line: what it buys, and what for.

  double Total() const { return cost.expected + placing_seconds; }
};

struct PlanOptions {
  uint32_t partitions = 0;  // 0: PartitionsFor.
  uint32_t most_copies = 3;
  CostRuns runs;
  // Of more workers a sample is tried, for schemes in which all even each other out.
  uint32_t most_whole = 256;
};

struct Ranking {
  // Exact ones that can be, the best first; then those that leave an error; then the refused.
  std::vector<PlannedScheme> schemes;
  uint32_t partitions = 0;
  uint64_t events = 0;  // Of the step model, all schemes together.
};

// What is tried for so many workers, in the order of Schemes(). Above 512 workers codes with
// equal shares, or whose construction searches, are left out.
std::vector<Candidate> CandidatesFor(size_t workers, uint32_t most_copies);

// Rows of as few workers as the server's link bears, where that promises much less than all of them
// do: each that takes part occupies the link for its parameters and its vector.
std::vector<Candidate> FewerWorkers(const PlannedCluster& cluster);

// "adaptive 2", "none 1, 4 workers"
std::string ShortNameOf(const Candidate& candidate);

// kInvalidArgument without workers, or when nothing exact can be.
Result<Ranking> RankSchemes(const PlannedCluster& cluster, const PlanOptions& options);

// The two halves of RankSchemes, for those who cannot wait for all of it: one candidate
// (options.partitions > 0), and the order of those that were tried (at least one).
PlannedScheme TryScheme(const Candidate& candidate, const PlannedCluster& cluster,
                        const PlanOptions& options);
Result<Ranking> RankTried(std::vector<PlannedScheme> tried, uint32_t partitions);

// What steps of it in which nobody is lost were seen to take, in the place of what the step model
// says; what stragglers and losses do to them is as much longer. RankTried puts it into its order.
void CorrectTo(double step_seconds, const PlannedCluster& cluster, PlannedScheme& planned);

// For sending what `to` needs beyond what `from` has placed. Copies of schemes that balance
// (none, adaptive) are nested: with r of each partition all those with r - 1 are where they
// were. Codes have placements of their own.
double SwitchSeconds(const Candidate& from, const Candidate& to, const PlannedCluster& cluster);

// What copies must gain in a step: the server's own work on messages, and workers that share
// processors, are not in the step model (seen: 1.5 ms a step instead of 0.8 ms, where it foresaw a
// gain).
constexpr double kLeastGainSeconds = 2e-3;

}  // namespace motley
