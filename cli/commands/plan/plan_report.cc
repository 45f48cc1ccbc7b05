// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/plan/plan_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "api/reports/job_report.h"
#include "api/request/job_plan.h"
#include "base/suggest.h"
#include "cli/commands/simulation.h"
#include "cli/report/compare.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "planner/planned_reduction.h"
#include "profiles/ideal_step.h"
#include "runtime/job.h"
#include "runtime/survey/vector_placement.h"
#include "training/models/architecture.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr size_t kMostSimulatedFor = 128;  // Workers; more take minutes.
constexpr double kLongestJob = 1e8;  // Seconds of virtual time; longer jobs are not simulated.
// A fixed scheme is clearly faster if auto takes longer by this fraction, and longer than the
// scheme's own interval reaches. Auto needs no knowledge of the cluster.
constexpr double kWorthTyping = 0.05;

// A scheme to simulate, and its result.
struct Row {
  SimulatedJobCode code;
  size_t scheme = 0;  // Index in the ranking; auto: one past the last.
  Result<SimulatedScheme> simulated = Status::Internal("not simulated");
};

constexpr const char* kNoServers = "plan does not simulate shard servers, and motley simulate does";

// Why the scheme is not simulated; empty: it can be, in reasonable time.
std::string WhyNot(const PlannedScheme& planned, const ClusterProfile& profile, bool runs) {
  if (!runs) return kNoServers;
  if (profile.workers.size() > kMostSimulatedFor) {
    return fmt::format("clusters of more than {} workers take too long to simulate",
                       kMostSimulatedFor);
  }
  const double seconds = planned.cost.step * (kLearningSteps + kCountedSteps);
  if (seconds < kLongestJob) return "";
  return fmt::format("steps of {:.3g} s are too long to simulate", planned.cost.step);
}

void SimulateAll(const PlanFlags& flags, const ClusterProfile& profile, std::vector<Row>& rows,
                 ParallelFor& parallel, const PlanProgress& progress) {
  std::mutex mutex;
  size_t done = 0;
  const auto report = [&](size_t more) {
    const std::lock_guard lock(mutex);
    done += more;
    if (progress) progress(done, rows.size());
  };
  report(0);
  parallel.For(rows.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      rows[i].simulated = SimulateCode(profile, flags, rows[i].code);
      report(1);
    }
  });
}

void Take(const PlannedCluster& cluster, Row& row, SimulatedPlan& plan) {
  PlannedScheme& scheme = plan.ranking.schemes[row.scheme];
  const Status& status = row.simulated.status();
  if (status.code() == StatusCode::kInvalidArgument) {  // No job accepts it.
    scheme.refused = status.message();
  } else if (!status.ok()) {
    plan.unseen.emplace_back(scheme.candidate, status.message());
  } else {
    CorrectTo(row.simulated->step_seconds, cluster, scheme);
    scheme.cost.work = row.simulated->work;
    scheme.cost.workers = row.simulated->Workers();
    plan.seen.emplace_back(scheme.candidate, *std::move(row.simulated));
  }
}

// The planned scheme that auto ended with in a seed, with `workers` computing. Null: the plan does
// not have it, so the cost of a loss is unknown.
const PlannedScheme* ComesTo(const CodeChoice& choice, uint32_t workers, const Ranking& ranking) {
  const Candidate candidate = CandidateOf(choice);
  const PlannedScheme* best = nullptr;
  const auto apart = [workers](const PlannedScheme& planned) {
    return std::abs(static_cast<double>(planned.cost.workers) - workers);
  };
  for (const PlannedScheme& planned : ranking.schemes) {
    const bool same = planned.candidate.scheme == candidate.scheme &&
                      planned.candidate.copies == candidate.copies && planned.refused.empty();
    if (same && (best == nullptr || apart(planned) < apart(*best))) best = &planned;
  }
  return best != nullptr ? best : Foreseen(kPlain, ranking);
}

AutomaticJob AutomaticOf(SimulatedScheme simulated, const Ranking& ranking) {
  AutomaticJob automatic;
  SchemeCost& cost = automatic.cost;
  std::map<std::string, std::pair<uint32_t, Candidate>> counts;
  const size_t seeds = simulated.seed_means.size();
  for (size_t i = 0; i < seeds; ++i) {
    const PlannedScheme* planned = ComesTo(simulated.chosen[i], simulated.workers[i], ranking);
    const SchemeCost of = planned != nullptr ? planned->cost : ranking.schemes.front().cost;
    const double part = simulated.seed_means[i] / of.step / static_cast<double>(seeds);
    cost.step += part * of.step;
    cost.expected += part * of.expected;
    cost.one_slow += part * of.one_slow;
    cost.loss += part * of.loss;
    Candidate candidate = planned != nullptr ? planned->candidate : kLeases;
    // The planned scheme is the nearest one, and its number of workers may differ.
    if (candidate.workers != 0) candidate.workers = simulated.workers[i];
    auto& [times, which] = counts[FlagsOf(candidate)];
    which = candidate;
    if (++times <= automatic.in_so_many) continue;
    automatic.in_so_many = times;
    automatic.comes_to = candidate;
  }
  cost.work = simulated.work;
  cost.workers = simulated.Workers();
  automatic.simulated = std::move(simulated);
  return automatic;
}

// The job of `motley simulate` that stands for a row.
SimulateFlags SimulatedAs(const PlanFlags& plan, const SimulatedJobCode& code) {
  SimulateFlags flags;
  flags.job.options.batch = plan.batch;
  flags.job.reduce = plan.reduce;
  if (plan.followers && plan.reduce != "star") {
    flags.job.options.followers = *plan.followers;
    flags.job.options.given |= MOTLEY_GIVEN_FOLLOWERS;
  }
  flags.job.wire = plan.wire;
  flags.job.optimizer = plan.optimizer;
  flags.job.code = code.code;
  flags.job.options.tolerate = code.tolerate;
  flags.job.tolerate_given = !SchemeNamed(code.code).chosen_later();
  flags.job.options.parts = SchemeNamed(code.code).has_parts ? code.parts : 0;
  flags.job.options.fastest = code.workers;
  flags.job.options.steps = kLearningSteps + kCountedSteps;
  flags.job.quiet = true;
  flags.seeds = kComparedSeeds;
  return flags;
}

std::shared_ptr<const JobOptions> JobToTrain(const PlanReport& report,
                                             const ClusterProfile& profile) {
  if (!report.vector) return nullptr;
  PlanFlags flags = report.flags;
  if (report.Runs()) flags.reduce = report.RecommendsDirect() ? "direct" : "star";
  SimulatedJobCode code{.code = "auto"};
  if (!report.TrainsWithAuto()) code = SimulatedCodeOf(report.Fixed().candidate);
  Result<Simulation> sim = PrepareSimulation(SimulatedAs(flags, code), profile);
  return sim.ok() ? std::make_shared<JobOptions>(std::move(sim->plan.job)) : nullptr;
}

Status TakeWire(const std::string& name, WireFormat& wire) {
  const WireFormat* const found = FindWireFormat(name);
  if (found == nullptr) return CheckChoice("--wire", name, WireFormatNames());
  wire = *found;
  return Status::Ok();
}

// A job refuses the same followers, and the plan of it would ignore them.
Status CheckVector(const PlanFlags& flags, const ReduceMode& mode, const ClusterProfile& profile) {
  const uint32_t followers = flags.followers.value_or(0);
  if (mode.kind == Reduce::kStar && followers > 0) {
    return Status::InvalidArgument(fmt::format(
        "--followers {}: the server of this job has the whole vector. Use --reduce direct, "
        "sharded:S or auto, or leave --followers out",
        followers));
  }
  const bool possible = mode.kind == Reduce::kStar || mode.kind == Reduce::kAuto;
  if (possible || profile.gradient_bytes > 0) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--reduce {}: '{}' does not say how long the vector is. Add gradient_bytes to it",
                  flags.reduce, flags.cluster));
}

Result<PlannedJob> JobOf(const PlanFlags& flags) {
  PlannedJob job;
  job.samples = flags.batch;
  job.remaining_steps = flags.steps;
  job.loss_probability = flags.loss_rate;
  job.data_bytes = flags.data_bytes;
  job.followers = flags.followers.value_or(job.followers);
  MOTLEY_RETURN_IF_ERROR(TakeWire(flags.wire, job.wire));
  MOTLEY_RETURN_IF_ERROR(Optimizer::Create(UsualOptions(flags.optimizer), 1).status());
  job.state = OptimizerVectors(flags.optimizer) > 0;
  return job;
}

Result<PlannedVector> PlaceVector(const ClusterProfile& profile, const PlannedJob& job,
                                  const PlanOptions& options, const ReduceMode& mode) {
  PlannedVector vector;
  vector.words.servers = mode.servers;
  vector.chosen = mode.kind == Reduce::kAuto;
  vector.words.bytes = static_cast<double>(profile.gradient_bytes);
  for (const WorkerProfile& worker : profile.workers) {
    vector.words.workers.push_back(worker.device.name);
  }
  ReduceRequest request = ReductionOf(profile, vector.words.bytes, mode, job);
  JobOptions choosing;
  choosing.holders = JobOptions::Holders::kChosen;
  vector.is_short = vector.chosen && !OthersMayHold(choosing, request.floats);
  if (vector.is_short) request.mode = {Reduce::kStar};
  if (vector.chosen) request.latency_seconds = 0;  // Jobs measure rates alone.
  MOTLEY_ASSIGN_OR_RETURN(vector.placed, ChooseReduction(request));
  ReduceRequest direct = request;
  direct.mode = {Reduce::kDirect};
  direct.exchange.servers.clear();
  MOTLEY_ASSIGN_OR_RETURN(vector.direct, ChooseReduction(direct));
  PlannedJob with_direct = job;
  with_direct.reduce = direct.mode;
  MOTLEY_ASSIGN_OR_RETURN(const Ranking ranking,
                          RankSchemes(ClusterOf(profile, with_direct), options));
  vector.direct_seconds = ranking.schemes.front().Total();
  return vector;
}

}  // namespace

Result<SimulatedScheme> SimulateCode(const ClusterProfile& cluster, const PlanFlags& plan,
                                     const SimulatedJobCode& code) {
  const SimulateFlags flags = SimulatedAs(plan, code);
  MOTLEY_ASSIGN_OR_RETURN(Simulation sim, PrepareSimulation(flags, cluster));
  MOTLEY_ASSIGN_OR_RETURN(SimSummary summary, RunSeeds(flags, sim, nullptr));
  SimulatedScheme simulated;
  simulated.step_seconds = Mean(summary.settled_seconds);
  simulated.p99_seconds = Quantile(std::move(summary.settled_seconds), 0.99);
  simulated.seed_means = std::move(summary.seed_means);
  simulated.workers = std::move(summary.computing);
  simulated.work = summary.batches;
  simulated.chosen = std::move(summary.chosen);
  return simulated;
}

uint32_t SimulatedScheme::Workers() const {
  if (workers.empty()) return 0;
  const double sum = std::accumulate(workers.begin(), workers.end(), 0.0);
  return static_cast<uint32_t>(std::lround(sum / static_cast<double>(workers.size())));
}

bool PlanReport::RecommendsDirect() const {
  if (PlacesDirect()) return true;
  // One worker alone has nobody to share with.
  return vector && Runs() && !vector->chosen && vector->direct.ranges.size() > 1 &&
         vector->direct_seconds < kWorthLeavingStar * Fixed().Total();
}

const SimulatedScheme* SimulatedPlan::Seen(const Candidate& candidate) const {
  for (const auto& [of, simulated] : seen) {
    if (of == candidate) return &simulated;
  }
  return nullptr;
}

bool PlanReport::RecommendsAuto() const {
  if (!automatic) return false;
  const double seconds = automatic->cost.expected;
  return std::none_of(
      plan.ranking.schemes.begin(), plan.ranking.schemes.end(), [&](const PlannedScheme& planned) {
        if (!planned.refused.empty() || !planned.exact) return false;
        const SimulatedScheme* seen = plan.Seen(planned.candidate);
        const auto interval = seen != nullptr ? MeanInterval(seen->seed_means) : std::nullopt;
        const double most = interval ? interval->high - seen->step_seconds : 0;
        return seconds > planned.Total() + std::max(most, kWorthTyping * planned.Total());
      });
}

double PlanReport::RecommendedSeconds() const {
  return RecommendsAuto() ? automatic->cost.expected : Fixed().Total();
}

Result<PlanReport> MakePlanReport(const PlanFlags& flags, const ClusterProfile& profile,
                                  ParallelFor& parallel, const PlanProgress& progress) {
  MOTLEY_ASSIGN_OR_RETURN(const ReduceMode mode, ReadReduce("--reduce", flags.reduce));
  MOTLEY_RETURN_IF_ERROR(CheckVector(flags, mode, profile));
  MOTLEY_ASSIGN_OR_RETURN(PlannedJob job, JobOf(flags));
  PlanOptions options;
  options.most_copies = flags.copies;
  PlanReport report;
  report.flags = flags;
  const bool asked = mode.servers > 0 || mode.kind == Reduce::kDirect;
  if (profile.gradient_bytes > 0 && (asked || profile.workers.size() <= kMostInAJob)) {
    MOTLEY_ASSIGN_OR_RETURN(report.vector, PlaceVector(profile, job, options, mode));
    const Reduce placed = report.vector->placed.kind;
    if (placed != Reduce::kStar) job.reduce = ReduceMode{placed, mode.servers};
  }
  const PlannedCluster cluster = ClusterOf(profile, job);
  SimulatedPlan& plan = report.plan;
  MOTLEY_ASSIGN_OR_RETURN(plan.ranking, RankSchemes(cluster, options));
  std::vector<Row> rows;
  for (size_t i = 0; i < plan.ranking.schemes.size(); ++i) {
    const PlannedScheme& scheme = plan.ranking.schemes[i];
    if (!scheme.refused.empty()) continue;
    if (std::string why = WhyNot(scheme, profile, report.Runs()); !why.empty()) {
      plan.unseen.emplace_back(scheme.candidate, std::move(why));
    } else {
      rows.push_back({SimulatedCodeOf(scheme.candidate), i});
    }
  }
  report.no_automatic = WhyNot(plan.ranking.schemes.front(), profile, report.Runs());
  const bool with_auto = report.no_automatic.empty();
  if (with_auto) rows.push_back({{.code = "auto"}, plan.ranking.schemes.size()});
  PlanFlags placed = flags;
  placed.reduce = report.PlacesDirect() ? "direct" : "star";
  SimulateAll(placed, profile, rows, parallel, progress);
  for (Row& row : rows) {
    if (row.scheme < plan.ranking.schemes.size()) Take(cluster, row, plan);
  }
  const uint32_t partitions = plan.ranking.partitions;
  MOTLEY_ASSIGN_OR_RETURN(plan.ranking, RankTried(std::move(plan.ranking.schemes), partitions));
  MOTLEY_ASSIGN_OR_RETURN(report.choice, ChoiceOfJob(plan.ranking, cluster));
  if (with_auto && rows.back().simulated.ok()) {
    report.automatic = AutomaticOf(*std::move(rows.back().simulated), plan.ranking);
  } else if (with_auto) {
    report.no_automatic = rows.back().simulated.status().message();
  }
  for (const PlannedWorker& worker : cluster.workers) {
    report.stragglers = report.stragglers || worker.slow_probability > 0;
    report.losses = report.losses || worker.loss_probability > 0;
  }
  report.cluster = profile.name.empty() ? flags.cluster : profile.name;
  report.machines = profile.workers.size();
  const std::vector<std::string>& models = ModelWords();
  const std::string word(WordOf(profile.model));
  if (std::find(models.begin(), models.end(), word) != models.end()) report.model = profile.model;
  report.ideal_seconds = IdealStepSeconds(profile.workers, RatesOfServers(profile, mode),
                                          cluster.gradient_bytes, cluster.samples);
  report.job = JobToTrain(report, profile);
  return report;
}

}  // namespace motley
