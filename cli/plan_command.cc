// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cli/exit_code.h"
#include "cli/table.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "scheduler/policies.h"

namespace motley {
namespace {

constexpr size_t kShown = 5;

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

Result<int> Run(const PlanFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(const ClusterProfile profile, LoadClusterProfile(flags.cluster));
  PlannedJob job;
  job.samples = flags.batch;
  job.remaining_steps = flags.steps;
  job.loss_probability = flags.loss_rate;
  job.data_bytes = flags.data_bytes;
  PlanOptions options;
  options.most_copies = flags.copies;
  const PlannedCluster cluster = ClusterOf(profile, job);
  MOTLEY_ASSIGN_OR_RETURN(const Ranking ranking, RankSchemes(cluster, options));
  MOTLEY_ASSIGN_OR_RETURN(const JobChoice choice, ChoiceOfJob(ranking, cluster));
  const std::string name = profile.name.empty() ? flags.cluster : profile.name;
  return PrintResult(flags.json ? PlanJson(ranking, choice, name)
                                : PlanText(ranking, choice, name, flags.explain));
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

std::string PlanText(const Ranking& ranking, const JobChoice& choice, const std::string& cluster,
                     bool explain) {
  const PlannedScheme* chosen = Foreseen(choice.candidate, ranking);
  std::string text = fmt::format("{}: {}, {} partitions, {} ms per step\n  {}\n\n", cluster,
                                 NameOf(choice.candidate), ranking.partitions,
                                 Figure(chosen->cost.expected), choice.why);
  Table table({"scheme", "step ms", "undisturbed", "premium", "one slow", "one lost", "work"});
  std::string reasons;
  size_t shown = 0;
  for (const PlannedScheme& planned : ranking.schemes) {
    if (!explain && (++shown > kShown || !planned.exact)) break;
    const std::string name = NameOf(planned.candidate);
    reasons += fmt::format("  {}: {}\n", name, planned.why);
    if (!planned.refused.empty()) continue;
    const SchemeCost& cost = planned.cost;
    table.Add({name + (planned.exact ? "" : " (not exact)"), Figure(planned.Total()),
               Figure(cost.undisturbed), fmt::format("{:+.0f} %", 100 * planned.premium),
               Figure(cost.one_slow), Figure(cost.loss), fmt::format("{:.2f}", cost.work)});
  }
  text += table.Format();
  text += fmt::format("\n{} schemes tried on the step model, {} events\n", ranking.schemes.size(),
                      ranking.events);
  return explain ? text + "\n" + reasons : text;
}

std::string PlanJson(const Ranking& ranking, const JobChoice& choice, const std::string& cluster) {
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
                   {"link", planned.cost.link}});
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
  const nlohmann::ordered_json json = {{"cluster", cluster},
                                       {"choice", chosen},
                                       {"partitions", ranking.partitions},
                                       {"events", ranking.events},
                                       {"schemes", schemes}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int RunPlan(const PlanFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
