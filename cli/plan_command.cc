// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/table.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "profiles/ideal_step.h"
#include "scheduler/policies.h"

namespace motley {
namespace {

constexpr size_t kShown = 5;
constexpr size_t kMostSimulatedFor = 128;  // Workers; with more it takes minutes.
constexpr size_t kMany = 32;               // Workers: each scheme is simulated less often.
constexpr uint32_t kSeeds = 5, kSeedsOfMany = 2;
constexpr const char* kColumns =
    "\nstep ms: on average, as motley simulate finds it once a job has learned speeds and links\n"
    "one slow, one lost: a step in which a worker is slow, or gone\n"
    "workers: those that compute something; batches: what they compute in a step, all together\n"
    "(1.00: each sample once; copies of the data need not be computed)\n";

std::string Figure(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f}", ms, ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3);
}

std::string NameOf(const Candidate& candidate) {
  std::string name = candidate.scheme;
  if (candidate.copies > 1) name += fmt::format(", {} copies", candidate.copies);
  if (candidate.workers > 0) {
    name += fmt::format(", {} worker{}", candidate.workers, candidate.workers == 1 ? "" : "s");
  }
  return name;
}

// But for its name.
std::vector<std::string> FiguresOf(const PlannedScheme& planned, const SimulatedScheme* seen) {
  const SchemeCost& cost = planned.cost;
  return {(seen == nullptr || seen->steady() ? "" : "~") + Figure(planned.Total()),
          seen == nullptr ? "-" : Figure(seen->p99_seconds),
          Figure(cost.one_slow),
          Figure(cost.loss),
          fmt::format("{:.0f}", seen == nullptr ? cost.workers : seen->workers),
          fmt::format("{:.2f}", seen == nullptr ? cost.work : seen->work)};
}

std::string MarksOf(const PlannedScheme& planned, const SimulatedScheme* seen) {
  if (!planned.exact) return " (not exact)";
  return seen == nullptr ? " *" : "";
}

// Everything that a job can run is simulated, where that does not take too long.
Result<PlanReport> MakeReport(const PlanFlags& flags, const ClusterProfile& profile) {
  PlannedJob job;
  job.samples = flags.batch;
  job.remaining_steps = flags.steps;
  job.loss_probability = flags.loss_rate;
  job.data_bytes = flags.data_bytes;
  PlanOptions options;
  options.most_copies = flags.copies;
  const PlannedCluster cluster = ClusterOf(profile, job);
  MOTLEY_ASSIGN_OR_RETURN(Ranking ranking, RankSchemes(cluster, options));
  PlanReport report;
  if (profile.workers.size() > kMostSimulatedFor) {
    report.plan.ranking = std::move(ranking);
  } else {
    const SimulatedRuns runs = {.seeds = profile.workers.size() > kMany ? kSeedsOfMany : kSeeds};
    MOTLEY_ASSIGN_OR_RETURN(report.plan,
                            SimulateRanking(std::move(ranking), cluster, profile, runs));
    const Result<SimulatedScheme> automatic =
        SimulateScheme(profile, flags.batch, {.code = "auto"}, runs);
    if (automatic.ok()) report.automatic = *automatic;
  }
  MOTLEY_ASSIGN_OR_RETURN(report.choice, ChoiceOfJob(report.plan.ranking, cluster));
  report.cluster = profile.name.empty() ? flags.cluster : profile.name;
  report.ideal_seconds = IdealStepSeconds(profile.workers, ServerRatesOf(profile),
                                          cluster.gradient_bytes, cluster.samples);
  return report;
}

Result<int> Run(const PlanFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(const ClusterProfile profile, LoadClusterProfile(flags.cluster));
  MOTLEY_ASSIGN_OR_RETURN(const PlanReport report, MakeReport(flags, profile));
  return PrintResult(flags.json ? PlanJson(report) : PlanText(report, flags.explain));
}

}  // namespace

Result<JobChoice> ChoiceOfJob(const Ranking& ranking, const PlannedCluster& cluster) {
  const std::optional<Candidate> chosen = Choose({}, ranking, cluster);
  if (!chosen) return Status::InvalidArgument("no job can run on this cluster");
  JobChoice choice = {*chosen, WhyChosen(*chosen, ranking, cluster)};
  const PlannedScheme& best = ranking.schemes.front();
  if (best.candidate != *chosen) {
    const bool runs = JobSchemeOf(best.candidate.scheme) != nullptr;
    choice.why += fmt::format("; {} ({} ms) {}", NameOf(best.candidate), Figure(best.Total()),
                              runs ? "gains too little to be worth its risk or its data"
                                   : "is no scheme that jobs choose by themselves");
  }
  return choice;
}

std::string PlanText(const PlanReport& plan, bool explain) {
  const Ranking& ranking = plan.plan.ranking;
  const PlannedScheme* chosen = Foreseen(plan.choice.candidate, ranking);
  std::string text =
      fmt::format("{}: {}, {} partitions, {} ms per step", plan.cluster,
                  NameOf(plan.choice.candidate), ranking.partitions, Figure(chosen->cost.expected));
  if (plan.ideal_seconds > 0) text += fmt::format(" (ideal {} ms)", Figure(plan.ideal_seconds));
  text += fmt::format("\n  {}\n\n", plan.choice.why);
  Table table({"scheme", "step ms", "p99 ms", "one slow", "one lost", "workers", "batches"});
  std::string reasons, alike, first;
  std::vector<std::string> above;  // Figures of the row of `first`.
  size_t shown = 0;
  bool all_simulated = true, unsteady = plan.automatic && !plan.automatic->steady();
  for (const PlannedScheme& planned : ranking.schemes) {
    if (!explain && (shown == kShown || !planned.exact)) break;
    const std::string name = NameOf(planned.candidate);
    reasons += fmt::format("  {}: {}\n", name, planned.why);
    if (!planned.refused.empty()) continue;
    const SimulatedScheme* seen = plan.plan.Seen(planned.candidate);
    std::vector<std::string> row = FiguresOf(planned, seen);
    if (!explain && row == above) {  // One row says it.
      alike += fmt::format("{} comes to the same as {}\n", name, first);
      continue;
    }
    above = row;
    first = name;
    all_simulated = all_simulated && (seen != nullptr || !planned.exact);
    unsteady = unsteady || (seen != nullptr && !seen->steady());
    row.insert(row.begin(), name + MarksOf(planned, seen));
    table.Add(std::move(row));
    ++shown;
  }
  if (plan.automatic) {
    const SimulatedScheme& seen = *plan.automatic;
    table.Add({"auto, which learns all", (seen.steady() ? "" : "~") + Figure(seen.step_seconds),
               Figure(seen.p99_seconds), "-", "-", fmt::format("{:.0f}", seen.workers),
               fmt::format("{:.2f}", seen.work)});
  }
  text += table.Format() + alike + kColumns;
  if (unsteady) {
    text +=
        "~ runs differ by more than 8 %: where links are crowded, chance decides who answers\n"
        "first. --json has the least and the most\n";
  }
  if (!all_simulated)
    text += "* by the step model alone: no job of this size or scheme was simulated\n";
  return explain ? text + "\n" + reasons : text;
}

std::string PlanJson(const PlanReport& plan) {
  const Ranking& ranking = plan.plan.ranking;
  const JobChoice& choice = plan.choice;
  auto schemes = nlohmann::ordered_json::array();
  for (const PlannedScheme& planned : ranking.schemes) {
    nlohmann::ordered_json json = {{"scheme", planned.candidate.scheme},
                                   {"copies", planned.candidate.copies},
                                   {"workers", planned.candidate.workers},
                                   {"exact", planned.exact}};
    if (planned.refused.empty()) {
      json.update({{"step_seconds", planned.Total()},
                   {"undisturbed_seconds", planned.cost.undisturbed},
                   {"one_slow_seconds", planned.cost.one_slow},
                   {"one_lost_seconds", planned.cost.loss},
                   {"placing_seconds", planned.placing_seconds},
                   {"premium", planned.premium},
                   {"work", planned.cost.work},
                   {"computing_workers", planned.cost.workers},
                   {"link", planned.cost.link}});
      const SimulatedScheme* seen = plan.plan.Seen(planned.candidate);
      json["simulated"] = seen != nullptr;
      if (seen != nullptr) {
        json["p99_seconds"] = seen->p99_seconds;
        json["seed_means"] = {{"low", seen->low}, {"high", seen->high}};
        json["work"] = seen->work;
        json["computing_workers"] = seen->workers;
      }
    } else {
      json["refused"] = planned.refused;
    }
    json["why"] = planned.why;
    schemes.push_back(std::move(json));
  }
  const nlohmann::ordered_json chosen = {{"scheme", choice.candidate.scheme},
                                         {"copies", choice.candidate.copies},
                                         {"workers", choice.candidate.workers},
                                         {"why", choice.why}};
  nlohmann::ordered_json json = {{"cluster", plan.cluster},
                                 {"choice", chosen},
                                 {"ideal_seconds", plan.ideal_seconds},
                                 {"partitions", ranking.partitions},
                                 {"events", ranking.events},
                                 {"schemes", schemes}};
  if (plan.automatic) {
    json["auto"] = {{"step_seconds", plan.automatic->step_seconds},
                    {"p99_seconds", plan.automatic->p99_seconds}};
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int RunPlan(const PlanFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
