// SPDX-License-Identifier: Apache-2.0
// The findings of `motley plan` about a cluster. Every scheme is simulated as in
// `motley simulate --compare`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "cli/report/placement.h"
#include "planner/auto/choose.h"
#include "profiles/profile.h"
#include "sim/simulated_scheme.h"

namespace motley {

struct JobOptions;

inline constexpr size_t kMostInAJob = 1024;  // Workers.

struct PlanFlags {
  std::string cluster;  // Profile file.
  uint32_t batch = 256;
  uint64_t steps = 1000;
  double loss_rate = 0;         // Probability per worker and step.
  double data_bytes = 0;        // Size of the whole data set.
  uint32_t copies = 3;          // The largest number.
  std::string reduce = "star";  // Simulating other jobs takes much longer.
  std::optional<uint32_t> followers;
  std::string wire = "float32";
  std::string optimizer = "adam";  // What motley train chooses for most models.
  bool explain = false;
  bool json = false;
  bool quiet = false;
};

// Figures of the steps in which no worker is lost. They are counted as in `motley simulate
// --compare`.
struct SimulatedScheme {
  double step_seconds = 0;         // Mean.
  double p99_seconds = 0;          // 99th percentile.
  std::vector<double> seed_means;  // Means by seed. On crowded links they may differ much.
  std::vector<uint32_t> workers;   // Workers that compute at the end, by seed.
  double work = 0;                 // Batches computed per step.
  std::vector<CodeChoice> chosen;  // Choices of --code auto at the end, by seed.

  uint32_t Workers() const;  // The mean over seeds.
};
// kInvalidArgument: such a job cannot run. `code` is one of SimulatedCodeOf, or auto. The batch and
// the vector are those of the flags.
Result<SimulatedScheme> SimulateCode(const ClusterProfile& cluster, const PlanFlags& flags,
                                     const SimulatedJobCode& code);

// A ranking by simulated times, as far as schemes were simulated.
struct SimulatedPlan {
  Ranking ranking;
  std::vector<std::pair<Candidate, SimulatedScheme>> seen;
  // Candidates that have only times of the step model, with the reason. Refused ones are not among
  // them.
  std::vector<std::pair<Candidate, std::string>> unseen;

  const SimulatedScheme* Seen(const Candidate& candidate) const;  // Null: not simulated.
};

// The scheme that a job without --code would choose from the same knowledge, and the reason.
struct JobChoice {
  Candidate candidate;
  std::string why;
};
// kInvalidArgument: no job can run on the cluster.
Result<JobChoice> ChoiceOfJob(const Ranking& ranking, const PlannedCluster& cluster);
// A job with --code auto, which knows nothing at first.
struct AutomaticJob {
  SimulatedScheme simulated;
  SchemeCost cost;     // Costs of stragglers and losses are those of the scheme that it ends with.
  Candidate comes_to;  // Its scheme at the end of most seeds.
  uint32_t in_so_many = 0;
};

// Where the vector is summed.
struct PlannedVector {
  PlacedVector words;
  ReduceChoice placed;    // By --reduce: the table is about it.
  bool chosen = false;    // --reduce auto chose it as jobs do.
  bool is_short = false;  // So jobs that choose leave it at the server.
  ReduceChoice direct;
  double direct_seconds = 0;  // A step of the fastest exact scheme with it, by the step model.
};

struct PlanReport {
  SimulatedPlan plan;
  JobChoice choice;
  std::string cluster;
  PlanFlags flags;
  size_t machines = 0;       // Workers in the file.
  std::string model;         // The one that was measured; empty: not known to motley train.
  double ideal_seconds = 0;  // IdealStepSeconds; 0: unknown.
  // Empty: its length is not known, or no job has so many workers.
  std::optional<PlannedVector> vector;
  std::optional<AutomaticJob> automatic;
  std::string no_automatic;  // The reason why `automatic` is empty.
  bool stragglers = false;   // Some worker is slow at times.
  bool losses = false;       // Workers may be lost.

  // The job of TrainCommand, whose code and vector's place are the recommended ones. Null: no job
  // can be simulated, or the vector's length is not known.
  std::shared_ptr<const JobOptions> job;

  // True if jobs can do what the plan is about.
  bool Runs() const { return !vector || vector->placed.kind != Reduce::kSharded; }
  bool PlacesDirect() const { return vector && vector->placed.kind == Reduce::kDirect; }
  // True if steps are clearly faster with a vector that the workers sum, or would be.
  bool RecommendsDirect() const;
  // The fastest exact scheme.
  const PlannedScheme& Fixed() const { return plan.ranking.schemes.front(); }
  // True if users should type auto, because no fixed scheme is clearly faster. False if auto was
  // not simulated.
  bool RecommendsAuto() const;
  double RecommendedSeconds() const;
  // The code's flags of `motley train` and `motley simulate` for the recommended row.
  std::string RecommendedFlags() const;
  // No code was simulated with the vector where it should be, and auto suits every place.
  bool TrainsWithAuto() const { return RecommendsAuto() || RecommendsDirect() != PlacesDirect(); }
  std::string TrainedFlags() const;  // The code's flags of TrainCommand.
  // Those for the vector; empty, or begins with a blank. `direct`: the workers sum it.
  std::string VectorFlags(bool direct) const;
  // Runs what the plan's row was simulated with: five seeds, of whose steps the settled ones count.
  std::string SimulateCommand() const;
  // The vector is where the plan recommends it, which may be elsewhere than in its figures.
  std::string TrainCommand() const;
};

// Reports that `done` of `all` simulations are ready. Called from several threads, one at a time.
using PlanProgress = std::function<void(size_t done, size_t all)>;

// Simulates every scheme that a job can run, unless that takes too long.
Result<PlanReport> MakePlanReport(const PlanFlags& flags, const ClusterProfile& profile,
                                  ParallelFor& parallel, const PlanProgress& progress);

// The flags that ask for this scheme, like "--code repetition --tolerate 1 --fastest 4".
std::string FlagsOf(const Candidate& candidate);

// A text with the choice and the best schemes, or with all of them if `explain`. Less important
// columns are omitted if lines would be longer than `columns`; 0: no limit.
std::string PlanText(const PlanReport& plan, bool explain, size_t columns = 0);
std::string PlanJson(const PlanReport& plan);

}  // namespace motley
