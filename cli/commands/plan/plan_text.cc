// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/reports/notice_text.h"
#include "cli/commands/plan/plan_report.h"
#include "cli/report/compare.h"
#include "cli/report/table.h"
#include "cli/terminal/terminal.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "runtime/memory_need.h"

namespace motley {
namespace {

constexpr size_t kShown = 5;
constexpr size_t kUsualColumns = 100;  // Used for files.
constexpr const char* kSlow = "one slow";
constexpr const char* kLost = "one lost";

std::string Figure(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f}", ms, ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3);
}

// Half of the interval of the mean, for a figure that is `scale` times the simulated one.
std::string HalfOf(const SimulatedScheme* seen, double scale) {
  const auto interval = seen != nullptr ? MeanInterval(seen->seed_means) : std::nullopt;
  return interval ? Figure(scale * (interval->high - interval->low) / 2) : "-";
}

class PlanTable {
 public:
  explicit PlanTable(const PlanReport& plan) : plan_(plan), table_(Header(plan)) {}

  // False: the row has the same figures as the row above, named Above(), and was not added.
  bool Add(const std::string& name, double seconds, const SchemeCost& cost,
           const SimulatedScheme* seen, bool even_if_alike) {
    std::vector<std::string> row = {Figure(seconds), HalfOf(seen, cost.expected / cost.step),
                                    seen == nullptr ? "-" : Figure(seen->p99_seconds)};
    if (plan_.stragglers) row.push_back(Figure(cost.one_slow));
    if (plan_.losses) row.push_back(Figure(cost.loss));
    row.push_back(fmt::format("{}", cost.workers));
    row.push_back(fmt::format("{:.2f}", cost.work));
    if (row == above_ && !even_if_alike) return false;
    above_ = row;
    first_ = name;
    row.insert(row.begin(), name);
    table_.Add(std::move(row));
    return true;
  }
  const std::string& Above() const { return first_; }
  std::string Format(size_t columns) {
    std::vector<std::string> dispensable = {"batches", "p99 ms", "workers"};
    if (plan_.stragglers) dispensable.emplace_back(kSlow);
    if (plan_.losses) dispensable.emplace_back(kLost);
    dispensable.emplace_back("+- ms");
    table_.Fit(columns, dispensable);
    return table_.Format();
  }

 private:
  static std::vector<std::string> Header(const PlanReport& plan) {
    std::vector<std::string> header = {"flags", "step ms", "+- ms", "p99 ms"};
    if (plan.stragglers) header.emplace_back(kSlow);
    if (plan.losses) header.emplace_back(kLost);
    header.emplace_back("workers");
    header.emplace_back("batches");
    return header;
  }

  const PlanReport& plan_;
  Table table_;
  std::vector<std::string> above_;
  std::string first_;
};

std::string Legend(const PlanReport& plan) {
  std::string text = "step ms: mean time of a step, as in motley simulate --compare";
  if (plan.losses) text += ", plus losses at the given rate";
  text += fmt::format(
      "\n+- ms: half of the 95 % interval of the mean, from {} seeds. On crowded links chance "
      "decides which worker answers first, and seeds differ much\n",
      kComparedSeeds);
  if (plan.stragglers) text += "one slow: a step in which a worker is slow\n";
  if (plan.losses) text += "one lost: a step in which a worker is lost\n";
  return text +
         "workers: those that compute; batches: the work of all workers in a step (1.00: each "
         "sample once; copies of the data need not be computed)\n";
}

// The reasons for figures that were not simulated, each reason once.
std::string UnseenText(const PlanReport& plan) {
  std::vector<std::pair<std::string, std::string>> reasons;  // Reason, and names of schemes.
  for (const auto& [candidate, why] : plan.plan.unseen) {
    const std::string name = FlagsOf(candidate);
    const auto at = std::find_if(reasons.begin(), reasons.end(),
                                 [&why = why](const auto& one) { return one.first == why; });
    if (at == reasons.end()) {
      reasons.emplace_back(why, name);
    } else {
      at->second += "; " + name;
    }
  }
  std::string text;
  const bool all = reasons.size() == 1 && plan.plan.seen.empty();
  if (all) reasons.front().second = "all schemes";
  for (const auto& [why, names] : reasons) {
    text += fmt::format("* by the step model alone: {}: {}{}\n", names, why,
                        all ? ". --code auto has no row without a simulation" : "");
  }
  if (!plan.automatic && !plan.no_automatic.empty() && !plan.plan.seen.empty()) {
    text += fmt::format("auto was not simulated: {}\n", plan.no_automatic);
  }
  return text;
}

// "41.3 ms", or "41.3 +- 0.2 ms" after a simulation.
std::string Step(double seconds, const SchemeCost& cost, const SimulatedScheme* seen) {
  const std::string half = HalfOf(seen, cost.expected / cost.step);
  return fmt::format("{}{} ms", Figure(seconds), half == "-" ? "" : " +- " + half);
}

std::string StepOf(const PlannedScheme& planned, const PlanReport& plan) {
  return Step(planned.Total(), planned.cost, plan.plan.Seen(planned.candidate));
}

// When to prefer auto, and when a fixed code.
std::string Advice(const PlanReport& plan) {
  const PlannedScheme& fixed = plan.Fixed();
  const std::string fixed_flags = FlagsOf(fixed.candidate);
  if (!plan.automatic) {
    return fmt::format(
        "{} is the fastest exact code for machines that stay as the file describes them. Prefer "
        "--code auto, the default, if machines come, go or change speed\n",
        fixed_flags);
  }
  const AutomaticJob& job = *plan.automatic;
  if (!plan.RecommendsAuto()) {
    return fmt::format(
        "{} is the fastest exact code for machines that stay as the file describes them. Prefer "
        "--code auto, the default, if machines come, go or change speed. Here auto takes {} per "
        "step\n",
        fixed_flags, Step(job.cost.expected, job.cost, &job.simulated));
  }
  return fmt::format(
      "auto, the default, learns the cluster while it runs, and adapts if machines come, go or "
      "change speed. In {} of {} simulated jobs it ended with {}. No fixed code is clearly faster: "
      "the fastest, {}, takes {} per step if machines stay as the file describes them\n",
      job.in_so_many, job.simulated.seed_means.size(), FlagsOf(job.comes_to), fixed_flags,
      StepOf(fixed, plan));
}

std::string Headline(const PlanReport& plan) {
  const std::string step =
      plan.RecommendsAuto()
          ? Step(plan.automatic->cost.expected, plan.automatic->cost, &plan.automatic->simulated)
          : StepOf(plan.Fixed(), plan);
  const bool other = plan.RecommendsDirect() && !plan.PlacesDirect();
  std::string text = fmt::format("{}: {}{} takes {} per step", plan.cluster,
                                 plan.RecommendedFlags(), other ? " --reduce star" : "", step);
  if (plan.ideal_seconds > 0) {
    text += fmt::format(" (ideal, if work and vector were divided without loss: {} ms)",
                        Figure(plan.ideal_seconds));
  }
  return text + "\n\n" + Advice(plan);
}

// The command in lines that fit, which a shell reads as one.
std::string InLines(const std::string& command, size_t columns) {
  constexpr std::string_view kIndent = "  ", kContinues = " \\";
  std::string text, line(kIndent);
  for (size_t begin = 0; begin < command.size();) {
    // A value stays beside its flag.
    const size_t end = std::min(command.find(" --", begin), command.size());
    const std::string word = command.substr(begin, end - begin);
    begin = end + 1;
    const bool first = line.size() == kIndent.size();
    if (!first && line.size() + 1 + word.size() + kContinues.size() > columns) {
      text += fmt::format("{}{}\n", line, kContinues);
      line = std::string(2 * kIndent.size(), ' ');
    } else if (!first) {
      line += ' ';
    }
    line += word;
  }
  return text + line + "\n";
}

uint64_t ParametersOf(const PlannedVector& vector) {
  return static_cast<uint64_t>(vector.words.bytes) / sizeof(float);
}

// The memory of a job with a long vector.
std::string MemoryText(const PlanReport& plan) {
  constexpr double kLongBytes = 64 << 20;
  if (plan.vector->words.bytes < kLongBytes || !plan.job) return "";
  const char* const direct = plan.RecommendsDirect() ? ", --reduce direct" : "";
  return fmt::format("with {}{} and --optimizer {} a job {}\n", plan.TrainedFlags(), direct,
                     plan.flags.optimizer, DescribeMemory(*plan.job, ParametersOf(*plan.vector)));
}

nlohmann::ordered_json MemoryJson(const PlanReport& plan) {
  const bool elsewhere = plan.job->holders != JobOptions::Holders::kServer;
  const UsualMemory usual = UsualMemoryOf(*plan.job, ParametersOf(*plan.vector), elsewhere);
  return {{"optimizer", plan.flags.optimizer},
          {"server_bytes", usual.server},
          {"worker_bytes", usual.worker},
          {"part_bytes", usual.part}};
}

// Where the vector is summed, and where it should be.
std::string VectorText(const PlanReport& plan, bool explain) {
  if (!plan.vector) return "";
  const PlannedVector& vector = *plan.vector;
  std::string text = "\n" + vector.words.Text(vector.placed);
  if (explain && !vector.placed.ranges.empty()) {
    text += "shares: " + vector.words.Shares(vector.placed) + "\n";
  }
  if (vector.is_short) {
    text += "jobs that choose leave a vector of less than 1 MiB at the server\n";
  }
  text += MemoryText(plan);
  if (!plan.Runs()) {
    return text +
           "to train with shard servers, see motley server --help; motley simulate shows their "
           "steps\n";
  }
  // One worker alone has nobody to share with.
  if (plan.PlacesDirect() || vector.chosen || vector.words.workers.size() < 2) return text;
  const bool direct = plan.RecommendsDirect();
  if (direct) text += vector.words.Text(vector.direct);
  text += fmt::format(
      "recommended: --reduce {}. If the workers sum the vector, the fastest code takes {} ms per "
      "step by the step model, and otherwise {} ms\n",
      direct ? "direct" : "star", Figure(vector.direct_seconds), Figure(plan.Fixed().Total()));
  if (direct) {
    text +=
        "the job to train has it, with --code auto. All other figures and the simulation are for "
        "--reduce star; plan with --reduce direct for those of that job, and for its fastest "
        "code\n";
  }
  return text;
}

std::string Commands(const PlanReport& plan, size_t columns) {
  if (!plan.Runs()) return "";
  return "\nto train with it:\n" + InLines(plan.TrainCommand(), columns) +
         "to simulate it again:\n" + InLines(plan.SimulateCommand(), columns);
}

const char* ReasonName(ReduceReason::Kind kind) {
  switch (kind) {
    case ReduceReason::Kind::kAsked: return "asked";
    case ReduceReason::Kind::kNoGain: return "no gain";
    case ReduceReason::Kind::kMessages: return "messages";
    case ReduceReason::Kind::kFaster: break;
  }
  return "faster";
}

nlohmann::ordered_json CostJson(const ReduceCost& cost) {
  return {{"exchange_seconds", cost.exchange.total}, {"message_seconds", cost.messages}};
}

nlohmann::ordered_json ReduceJson(const PlanReport& plan) {
  const PlannedVector& vector = *plan.vector;
  const ReduceChoice& placed = vector.placed;
  const size_t workers = vector.words.workers.size();
  auto shares = nlohmann::ordered_json::array();
  for (const ShardRange& range : placed.ranges) {
    const bool worker = range.owner < workers;
    const auto all = static_cast<double>(placed.ranges.back().end);
    shares.push_back({{worker ? "worker" : "server", worker ? range.owner : range.owner - workers},
                      {"share", static_cast<double>(range.size()) / all}});
  }
  nlohmann::ordered_json json = {
      {"placement", NameOf({placed.kind, vector.words.servers})},
      {"reason", vector.is_short ? "short" : ReasonName(placed.reason.kind)}};
  json.update(CostJson(placed.cost));
  json["star"] = CostJson(placed.reason.star);
  if (placed.reason.narrowest) json["narrowest_worker"] = *placed.reason.narrowest;
  json["shares"] = std::move(shares);
  if (workers > 1) json["direct_step_seconds"] = vector.direct_seconds;
  if (plan.Runs()) json["recommended"] = plan.RecommendsDirect() ? "direct" : "star";
  return json;
}

// The text as one word of a shell.
std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-:=@%,";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

nlohmann::ordered_json IntervalJson(const SimulatedScheme& seen, double scale) {
  const auto interval = MeanInterval(seen.seed_means);
  if (!interval) return nullptr;
  return {{"low", scale * interval->low}, {"high", scale * interval->high}};
}

// Adds the results of a simulated scheme.
void AddSimulated(const SimulatedScheme& seen, const SchemeCost& cost,
                  nlohmann::ordered_json& json) {
  json["p99_seconds"] = seen.p99_seconds;
  json["interval"] = IntervalJson(seen, cost.expected / cost.step);
  json["seed_means"] = seen.seed_means;
}

}  // namespace

std::string FlagsOf(const Candidate& candidate) {
  const SimulatedJobCode code = SimulatedCodeOf(candidate);
  std::string flags = "--code " + code.code;
  if (SchemeNamed(code.code).keeps_copies) flags += fmt::format(" --tolerate {}", code.tolerate);
  if (SchemeNamed(code.code).has_parts) flags += fmt::format(" --parts {}", code.parts);
  if (code.workers > 0) flags += fmt::format(" --fastest {}", code.workers);
  return flags;
}

std::string PlanReport::RecommendedFlags() const {
  return RecommendsAuto() ? "--code auto" : FlagsOf(Fixed().candidate);
}

std::string PlanReport::TrainedFlags() const {
  return TrainsWithAuto() ? "--code auto" : RecommendedFlags();
}

std::string PlanReport::VectorFlags(bool direct) const {
  const PlanFlags usual;
  std::string text;
  if (vector) text = direct ? " --reduce direct" : " --reduce star";
  if (direct && flags.followers) text += fmt::format(" --followers {}", *flags.followers);
  if (flags.wire != usual.wire) text += " --wire " + flags.wire;
  if (flags.optimizer != usual.optimizer) text += " --optimizer " + flags.optimizer;
  return text;
}

std::string PlanReport::SimulateCommand() const {
  return fmt::format("motley simulate --cluster {} --batch {} --steps {} --seeds {} {}{}",
                     ShellWord(flags.cluster), flags.batch, kLearningSteps + kCountedSteps,
                     kComparedSeeds, RecommendedFlags(), VectorFlags(PlacesDirect()));
}

std::string PlanReport::TrainCommand() const {
  const size_t most = std::min(machines, kMostInAJob);
  return fmt::format("motley train --remote --workers {}..{} --data FILE{} --batch {} {}{}",
                     std::min<size_t>(most, 2), most,
                     model.empty() ? "" : " --model " + ShellWord(model), flags.batch,
                     TrainedFlags(), VectorFlags(RecommendsDirect()));
}

Result<JobChoice> ChoiceOfJob(const Ranking& ranking, const PlannedCluster& cluster) {
  const std::optional<Candidate> chosen = Choose({}, ranking, cluster);
  if (!chosen) return Status::InvalidArgument("no job can run on this cluster");
  JobChoice choice = {*chosen, ReasonText(WhyChosen(*chosen, ranking, cluster))};
  const PlannedScheme& best = ranking.schemes.front();
  if (best.candidate != *chosen) {
    const bool runs = SchemeNamed(best.candidate.scheme).for_auto;
    choice.why += fmt::format("; {} ({} ms) {}", FlagsOf(best.candidate), Figure(best.Total()),
                              runs ? "gains too little to be worth its risk or its data"
                                   : "is not a scheme that jobs choose by themselves");
  }
  return choice;
}

std::string PlanText(const PlanReport& plan, bool explain, size_t columns) {
  const Ranking& ranking = plan.plan.ranking;
  PlanTable table(plan);
  std::string reasons, alike;
  size_t shown = 0;
  bool auto_shown = !plan.automatic;
  const double auto_seconds = plan.automatic ? plan.automatic->cost.expected : 0;
  const auto show_auto = [&] {
    if (std::exchange(auto_shown, true)) return;
    const AutomaticJob& job = *plan.automatic;
    table.Add("--code auto", job.cost.expected, job.cost, &job.simulated, true);
  };
  for (const PlannedScheme& planned : ranking.schemes) {
    if (!explain && (shown == kShown || !planned.exact)) break;
    std::string name = FlagsOf(planned.candidate);
    reasons += fmt::format("{}: {}\n", name, planned.why);
    if (!planned.refused.empty()) continue;
    if (!planned.exact || planned.Total() >= auto_seconds) show_auto();
    const SimulatedScheme* seen = plan.plan.Seen(planned.candidate);
    const std::string marks =
        std::string(planned.exact ? "" : " (not exact)") + (seen == nullptr ? " *" : "");
    if (!table.Add(name + marks, planned.Total(), planned.cost, seen, explain)) {
      alike += fmt::format("{} has the same figures as {}\n", name, table.Above());
      continue;
    }
    ++shown;
  }
  show_auto();
  std::string below = alike + "\n" + Legend(plan);
  if (!explain) below += "--explain shows every code, with the reason for its place\n";
  if (explain) below += "not exact: steps end before their gradient is complete\n";
  below += UnseenText(plan);
  if (explain) below += "\n" + reasons;
  const size_t width = columns > 0 ? columns : kUsualColumns;
  return WrapText(Headline(plan) + VectorText(plan, explain), width) + Commands(plan, width) +
         "\n" + table.Format(columns) + WrapText(below, width);
}

std::string PlanJson(const PlanReport& plan) {
  const Ranking& ranking = plan.plan.ranking;
  const JobChoice& choice = plan.choice;
  auto schemes = nlohmann::ordered_json::array();
  for (const PlannedScheme& planned : ranking.schemes) {
    const SimulatedJobCode code = SimulatedCodeOf(planned.candidate);
    nlohmann::ordered_json json = {{"scheme", planned.candidate.scheme},
                                   {"copies", planned.candidate.copies},
                                   {"workers", planned.candidate.workers},
                                   {"code", code.code},
                                   {"tolerate", code.tolerate},
                                   {"exact", planned.exact}};
    if (SchemeNamed(code.code).has_parts) json["parts"] = code.parts;
    if (planned.refused.empty()) {
      json["flags"] = FlagsOf(planned.candidate);
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
      if (seen != nullptr) AddSimulated(*seen, planned.cost, json);
      for (const auto& [candidate, why] : plan.plan.unseen) {
        if (candidate == planned.candidate) json["not_simulated"] = why;
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
  nlohmann::ordered_json recommended = {{"flags", plan.RecommendedFlags()},
                                        {"step_seconds", plan.RecommendedSeconds()}};
  if (plan.Runs()) {
    recommended["train"] = plan.TrainCommand();
    recommended["simulate"] = plan.SimulateCommand();
  }
  nlohmann::ordered_json json = {{"cluster", plan.cluster},  {"recommended", recommended},
                                 {"choice", chosen},         {"ideal_seconds", plan.ideal_seconds},
                                 {"reduce", nullptr},        {"partitions", ranking.partitions},
                                 {"events", ranking.events}, {"schemes", schemes}};
  if (plan.vector) {
    json["reduce"] = ReduceJson(plan);
    json["memory"] = plan.job ? MemoryJson(plan) : nullptr;
  }
  if (plan.automatic) {
    const AutomaticJob& job = *plan.automatic;
    json["auto"] = {
        {"step_seconds", job.cost.expected},     {"one_slow_seconds", job.cost.one_slow},
        {"one_lost_seconds", job.cost.loss},     {"work", job.cost.work},
        {"computing_workers", job.cost.workers}, {"comes_to", FlagsOf(job.comes_to)}};
    AddSimulated(job.simulated, job.cost, json["auto"]);
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace motley
