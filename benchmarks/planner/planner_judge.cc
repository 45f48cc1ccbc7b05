// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/planner/planner_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "planner/auto/choose.h"
#include "runtime/job.h"

namespace motley {
namespace {

// Factor between rounds of steps: a scheme first runs fewer steps, and more if it was within
// kWithin of the best.
constexpr uint32_t kFewer = 4;
constexpr double kWithin = 1.33;
constexpr int kLonger = 3;            // Times that a job is simulated again with twice the steps.
constexpr uint32_t kSettledPart = 4;  // At least one counted step in this many must be settled.

struct Tried {
  Candidate candidate;
  JudgedScheme judged;
};

// Seconds per step of a job as long as the case says, without sending all samples once.
double PerStep(const SimulatedJob& job, const SimulatedSteps& steps, const PlannerCase& made,
               bool leases) {
  const auto all = static_cast<double>(made.truth.remaining_steps);
  const double seen = steps.skipped + steps.counted;
  const double start = std::min(job.first, made.truth.data_seconds);
  // Copies may still be in transit, which will end.
  const double rest = (leases ? job.settled : job.step) * (all - seen);
  return (job.learning - start + job.step * steps.counted + rest) / all;
}

// Seconds per step of a job with `auto`. Trials come at intervals that double. So each further
// doubling of the steps costs as much for trials as the last one that was simulated.
double PerStepOfAuto(const SimulatedJob& job, const SimulatedSteps& steps,
                     const PlannerCase& made) {
  const auto all = static_cast<double>(made.truth.remaining_steps);
  const double seen = steps.skipped + steps.counted;
  const double rest = job.settled * (all - seen) + job.trying * std::log2(all / seen);
  const double start = std::min(job.first, made.truth.data_seconds);
  return (job.learning - start + job.step * steps.counted + rest) / all;
}

// Simulates longer while a trial is in progress at the end, or copies were in transit in nearly
// every step, because the result is then unknown. Sets `steps` to those that were simulated.
Result<SimulatedJob> RunUntilSettled(const PlannerCase& made, const SimulatedJobCode& what,
                                     SimulatedSteps& steps, uint64_t seed) {
  const uint32_t enough = steps.counted / kSettledPart;
  Result<SimulatedJob> job = RunOnTruth(made, what, steps, seed);
  for (int times = 0; times < kLonger && job.ok(); ++times) {
    if (!job->undecided && job->settled_steps >= enough) break;
    if (steps.skipped + 2 * steps.counted > made.truth.remaining_steps) break;
    steps.counted *= 2;
    job = RunOnTruth(made, what, steps, seed);
  }
  return job;
}

Status Run(const PlannerCase& made, SimulatedSteps steps, uint64_t seed, Tried& tried) {
  const bool leases = SchemeNamed(tried.candidate.scheme).leases();
  const SimulatedJobCode what = SimulatedCodeOf(tried.candidate);
  MOTLEY_ASSIGN_OR_RETURN(const SimulatedJob job, leases ? RunUntilSettled(made, what, steps, seed)
                                                         : RunOnTruth(made, what, steps, seed));
  tried.judged.seconds = PerStep(job, steps, made, leases);
  return Status::Ok();
}

// Schemes in the order in which the planner ranks them from the profile.
Result<std::vector<Tried>> Predict(const PlannerCase& made, std::string& chosen) {
  PlanOptions options;
  MOTLEY_ASSIGN_OR_RETURN(options.partitions,
                          PartitionCount(static_cast<uint64_t>(made.truth.samples),
                                         static_cast<uint32_t>(made.truth.workers.size())));
  MOTLEY_ASSIGN_OR_RETURN(const Ranking profiled, RankSchemes(made.profile, options));
  const std::optional<Candidate> choice = Choose({}, profiled, made.profile);
  if (!choice) return Status::NotFound("auto has nothing to choose on this cluster");
  chosen = ShortNameOf(*choice);
  std::vector<Tried> all;
  for (const PlannedScheme& planned : profiled.schemes) {
    if (!planned.exact || !planned.refused.empty()) continue;
    // Jobs run it only since recently, and auto does not choose it. Its cost is not judged yet.
    if (SchemeNamed(planned.candidate.scheme).sharing == Sharing::kKeptRows) continue;
    Tried tried;
    tried.candidate = planned.candidate;
    tried.judged.name = ShortNameOf(planned.candidate);
    tried.judged.profiled = planned.Total();
    tried.judged.foreseen = TryScheme(planned.candidate, made.truth, options).Total();
    all.push_back(std::move(tried));
  }
  if (all.empty()) return Status::NotFound("no job can run on this cluster");
  return all;
}

Status RunAuto(const PlannerCase& made, SimulatedSteps& steps, uint64_t seed, JudgedCase& judged) {
  MOTLEY_ASSIGN_OR_RETURN(SimulatedJob job, RunUntilSettled(made, {"auto", 0, 2}, steps, seed));
  const Candidate chosen =
      job.choices.empty() ? Candidate{"adaptive", 1} : CandidateOf(job.choices.back());
  judged.chosen = ShortNameOf(chosen);
  if (!job.choices.empty()) judged.first = ShortNameOf(CandidateOf(job.choices.front()));
  judged.chosen_seconds = PerStepOfAuto(job, steps, made);
  judged.choices = std::move(job.choices);
  return Status::Ok();
}

}  // namespace

Result<JudgedCase> JudgeCase(const PlannerCase& made, JudgeWhat what, SimulatedSteps steps,
                             uint64_t seed) {
  JudgedCase judged;
  if (what == JudgeWhat::kAuto) MOTLEY_RETURN_IF_ERROR(RunAuto(made, steps, seed, judged));
  MOTLEY_ASSIGN_OR_RETURN(std::vector<Tried> all, Predict(made, judged.planned));
  double least = std::numeric_limits<double>::infinity();
  for (Tried& tried : all) {
    tried.judged.brief = true;
    if (made.whole_job) break;  // The best scheme in its first steps need not be the best in all.
    MOTLEY_RETURN_IF_ERROR(Run(made, {steps.skipped, steps.counted / kFewer}, seed, tried));
    least = std::min(least, tried.judged.seconds);
  }
  const auto choice = std::find_if(all.begin(), all.end(), [&](const Tried& tried) {
    return tried.judged.name == judged.planned;
  });
  if (choice == all.end()) return Status::NotFound("no job can run what is planned");
  for (Tried& tried : all) {
    const bool wanted = &tried == &*choice || tried.candidate == kPlain;
    if (tried.judged.seconds > kWithin * least && !wanted) continue;
    tried.judged.brief = false;
    MOTLEY_RETURN_IF_ERROR(Run(made, steps, seed, tried));
  }
  if (what == JudgeWhat::kPlanner) {
    judged.chosen = choice->judged.name;
    judged.chosen_seconds = choice->judged.seconds;
  }
  judged.best_seconds = judged.least_seconds = std::numeric_limits<double>::infinity();
  for (Tried& tried : all) {
    if (tried.candidate == kPlain) judged.uncoded_seconds = tried.judged.seconds;
    if (!tried.judged.brief) {
      judged.least_seconds = std::min(judged.least_seconds, tried.judged.seconds);
    }
    const bool fixed = tried.candidate.workers == 0 && !tried.judged.brief;
    if (fixed && tried.judged.seconds < judged.best_seconds) {
      judged.best_seconds = tried.judged.seconds;
      judged.best = tried.judged.name;
    }
    judged.schemes.push_back(std::move(tried.judged));
  }
  std::stable_sort(
      judged.schemes.begin(), judged.schemes.end(),
      [](const JudgedScheme& a, const JudgedScheme& b) { return a.seconds < b.seconds; });
  return judged;
}

}  // namespace motley
