// SPDX-License-Identifier: Apache-2.0
// What `motley plan` finds out about a cluster: every scheme, in the simulations of `motley
// simulate
// --compare`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "planner/auto/choose.h"
#include "profiles/profile.h"
#include "sim/simulated_scheme.h"

namespace motley {

struct PlanFlags {
  std::string cluster;  // Profile file.
  uint32_t batch = 256;
  uint64_t steps = 1000;
  double loss_rate = 0;   // Of a worker, per step.
  double data_bytes = 0;  // Of the whole data set.
  uint32_t copies = 3;    // At most.
  bool explain = false;
  bool json = false;
  bool quiet = false;
};

// Of steps in which nobody is lost, as motley simulate --compare counts them.
struct SimulatedScheme {
  double step_seconds = 0;         // Mean;
  double p99_seconds = 0;          // of the same steps.
  std::vector<double> seed_means;  // Of single seeds. Where links are crowded they may differ much.
  std::vector<uint32_t> workers;   // By seed: those that compute something at the end.
  double work = 0;                 // What is computed, in whole batches, per step.
  std::vector<CodeChoice> chosen;  // By --code auto, at the end of each seed.

  uint32_t Workers() const;  // The mean.
};
// kInvalidArgument where such a job cannot be. `code`: one of SimulatedCodeOf, or auto.
Result<SimulatedScheme> SimulateCode(const ClusterProfile& cluster, uint32_t batch,
                                     const SimulatedJobCode& code);

// A ranking in which every scheme that was simulated takes as long as the simulator says.
struct SimulatedPlan {
  Ranking ranking;
  std::vector<std::pair<Candidate, SimulatedScheme>> seen;
  // For which the step model stands, and why. Not those that are refused.
  std::vector<std::pair<Candidate, std::string>> unseen;

  const SimulatedScheme* Seen(const Candidate& candidate) const;  // Null: it was not simulated.
};

// What a job without --code would choose from the same knowledge, and why.
struct JobChoice {
  Candidate candidate;
  std::string why;
};
// kInvalidArgument when no job can run on the cluster.
Result<JobChoice> ChoiceOfJob(const Ranking& ranking, const PlannedCluster& cluster);
// The fastest exact scheme of which --code can say all; nothing: there is none.
std::optional<JobChoice> FastestTyped(const Ranking& ranking, const PlannedCluster& cluster);

// A job with --code auto, which knows nothing at first.
struct AutomaticJob {
  SimulatedScheme simulated;
  SchemeCost cost;     // Stragglers and losses cost it what they cost the scheme that it comes to.
  Candidate comes_to;  // In most seeds, at the end.
  uint32_t in_so_many = 0;
};

struct PlanReport {
  SimulatedPlan plan;
  JobChoice choice;
  std::optional<JobChoice> typed;  // What to type in the place of auto; nothing: auto it is.
  std::string cluster;
  double ideal_seconds = 0;  // Of a step of perfectly divisible work; 0: not known.
  std::optional<AutomaticJob> automatic;
  std::string no_automatic;  // Why it was not simulated.
  bool stragglers = false;   // Some worker is slow now and then,
  bool losses = false;       // or lost.

  // What to type: auto, unless `typed` is clearly faster. Auto was not simulated: `typed`.
  bool RecommendsAuto() const;
  double RecommendedSeconds() const;
};

// Of what is simulated `done` of `all` are ready. Called by several threads, one at a time.
using PlanProgress = std::function<void(size_t done, size_t all)>;

// Everything that a job can run is simulated, where that does not take too long.
Result<PlanReport> MakePlanReport(const PlanFlags& flags, const ClusterProfile& profile,
                                  ParallelFor& parallel, const PlanProgress& progress);

// "none, 3 workers", "repetition, 2 copies": as jobs call it.
std::string NameOfRow(const Candidate& candidate);
// "--code repetition --tolerate 1"; not of a candidate with fewer workers, which no flag asks for.
std::string FlagsOf(const Candidate& candidate);

// The choice and the best; with `explain` everything that was tried. Columns that can be missed are
// left out where the lines would be longer than `columns`; 0: all are there.
std::string PlanText(const PlanReport& plan, bool explain, size_t columns = 0);
std::string PlanJson(const PlanReport& plan);

}  // namespace motley
