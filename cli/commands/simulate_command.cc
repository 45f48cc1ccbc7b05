// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/simulate_command.h"

#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "cli/commands/simulation.h"
#include "cli/report/compare.h"
#include "cli/report/report.h"
#include "cli/report/svg.h"
#include "cli/report/timeline.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output_file.h"
#include "cli/terminal/terminal.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "sim/simulated_scheme.h"

namespace motley {
namespace {

constexpr uint64_t kComparedSteps = kLearningSteps + kCountedSteps;

// Describes the replay: its file, its duration and the assumptions.
std::string ReplayText(const ReplayFile& replay, uint32_t seeds, const SimSummary& summary) {
  std::string text = fmt::format(
      "replayed {}: {} of {}; {:.4g} s in all", replay.path, Counted(replay.times->steps(), "step"),
      Counted(replay.times->workers(), "worker"), summary.wall_seconds / seeds);
  if (replay.wait_for_all_seconds > 0) {
    text += fmt::format(" ({:.4g} s if each round waited for an equal share from every worker)",
                        replay.wait_for_all_seconds);
  }
  text += "\nassumed:\n";
  for (const std::string& sentence : replay.assumed) text += fmt::format("- {}\n", sentence);
  return text;
}

// Formats tolerances as "1 (0 at the end)". Leases need time to make copies, and keep none for lost
// workers.
std::string Tolerates(uint32_t asked, uint32_t at_end) {
  return asked == at_end ? std::to_string(asked) : fmt::format("{} ({} at the end)", asked, at_end);
}

// The nodes that sum the vector. Each seed may place it otherwise, so `seed` says which one this
// was.
nlohmann::ordered_json PlacementJson(const JobPlan& plan, uint32_t seeds,
                                     const SimSummary& summary) {
  auto json = nlohmann::ordered_json::parse(summary.placement);
  if (seeds > 1) json["seed"] = plan.job.seed;
  return json;
}

// Empty for a star that was asked for.
std::string PlacementLine(const JobPlan& plan, uint32_t seeds, const SimSummary& summary) {
  const auto json = PlacementJson(plan, seeds, summary);
  const std::string by = json.at("by");
  if (by == "star" && !json.contains("why")) return "";
  const std::string usual =
      fmt::format("the {} sum the vector", by == "direct" ? "workers" : "shard servers");
  const std::string where = seeds > 1 ? fmt::format("seed {}: ", plan.job.seed) : "";
  return where + json.value("why", usual) + "\n";
}

std::string SimTable(const JobPlan& plan, uint32_t seeds, const SimSummary& summary) {
  const double mean = Mean(summary.step_seconds);
  std::string text = WorkerTable(summary.workers) + "\n";
  text +=
      fmt::format("code {}, tolerates {}; {} over {}, {} discarded\n", plan.job.code,
                  Tolerates(plan.job.tolerate, summary.tolerates), Counted(summary.steps, "step"),
                  Counted(seeds, "seed"), summary.discarded_steps);
  if (!SchemeNamed(plan.job.code).exact) {
    text += ApproximateLine(summary.approximate.steps, summary.steps,
                            summary.approximate.mean_error(), summary.approximate.max_error);
  }
  text += PlacementLine(plan, seeds, summary);
  text += fmt::format("step mean {:.2f} ms, p99 {:.2f} ms, ideal {:.2f} ms ({:.2f} times)\n",
                      mean * 1e3, Quantile(summary.step_seconds, 0.99) * 1e3,
                      summary.ideal_seconds * 1e3,
                      summary.ideal_seconds > 0 ? mean / summary.ideal_seconds : 0);
  if (summary.settled_from > 0) {
    text += fmt::format("from step {} on, when speeds and links are learned: mean {:.2f} ms\n",
                        summary.settled_from, Mean(summary.settled_seconds) * 1e3);
  }
  return text;
}

nlohmann::ordered_json ReplayJson(const ReplayFile& replay, uint32_t seeds,
                                  const SimSummary& summary) {
  nlohmann::ordered_json json = {{"file", replay.path},
                                 {"steps", replay.times->steps()},
                                 {"workers", replay.times->workers()},
                                 {"wall_seconds", summary.wall_seconds / seeds},
                                 {"assumed", replay.assumed}};
  if (replay.wait_for_all_seconds > 0) json["wait_for_all_seconds"] = replay.wait_for_all_seconds;
  return json;
}

// `gradient_bytes` is the cluster file's; 0: that of the small model that was trained.
std::string SimJson(const JobPlan& plan, uint64_t gradient_bytes, uint32_t seeds,
                    const SimSummary& summary, const std::optional<ReplayFile>& replay) {
  auto workers = nlohmann::ordered_json::array();
  for (const WorkerLine& line : summary.workers) {
    workers.push_back({{"name", line.name},
                       {"relative_speed", line.relative_speed},
                       {"share", line.share},
                       {"share_at_end", line.share_at_end},
                       {"samples", line.samples},
                       {"held_bytes", line.held_bytes},
                       {"steps_in_time", line.steps_in_time},
                       {"late", line.late},
                       {"lost", line.lost}});
  }
  nlohmann::ordered_json json = {
      {"scheme", plan.job.code},
      {"tolerate", plan.job.tolerate},
      {"tolerate_at_end", summary.tolerates},
      {"parts", SchemeNamed(plan.job.code).has_parts ? plan.job.parts : 1},
      {"gradient_bytes", gradient_bytes},
      {"shares", plan.job.shares == Shares::kEqual ? "equal" : "proportional"},
      {"seeds", seeds},
      {"steps", summary.steps},
      {"step_seconds",
       {{"mean", Mean(summary.step_seconds)}, {"p99", Quantile(summary.step_seconds, 0.99)}}},
      {"ideal_seconds", summary.ideal_seconds},
      {"discarded_steps", summary.discarded_steps},
      {"reduce", PlacementJson(plan, seeds, summary)},
      {"workers", workers}};
  if (summary.settled_from > 0) {
    json["step_seconds"]["settled_mean"] = Mean(summary.settled_seconds);
  }
  if (!SchemeNamed(plan.job.code).exact) {
    json["approximate"] = {{"steps", summary.approximate.steps},
                           {"mean_error", summary.approximate.mean_error()},
                           {"max_error", summary.approximate.max_error}};
  }
  if (replay) json["replay"] = ReplayJson(*replay, seeds, summary);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status DrawTimeline(const SimulateFlags& flags, TraceRecorder& trace) {
  const std::vector<TraceSpan> spans = trace.Spans();
  const std::optional<uint64_t> step =
      flags.timeline_step ? flags.timeline_step : SlowestStep(spans);
  if (!step) return Status::NotFound("--timeline: no step was finished that could be drawn");
  const Result<std::string> svg = TimelineSvg(spans, trace.worker_names(), *step);
  if (!svg.ok()) return svg.status().WithContext("--timeline-step");
  return WriteFile(flags.timeline, *svg);
}

// Refuses names that look like recorded times, because --trace writes another format.
Status CheckTrace(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".csv.gz")) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--trace writes Chrome trace events, and would replace '{}'. To read recorded "
                  "times from it, use --replay",
                  path));
}

Status CheckOutputs(const SimulateFlags& flags) {
  MOTLEY_RETURN_IF_ERROR(CheckTrace(flags.job.trace));
  MOTLEY_RETURN_IF_ERROR(CheckSvgName("--timeline", flags.timeline));
  MOTLEY_RETURN_IF_ERROR(CheckSvgName("--plot", flags.plot));
  const std::pair<const char*, const std::string*> outputs[] = {
      {"--trace", &flags.job.trace}, {"--timeline", &flags.timeline}, {"--plot", &flags.plot}};
  for (const auto& [flag, path] : outputs) {
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, *path, "--replay", flags.replay));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, *path, "--cluster", flags.cluster));
    MOTLEY_RETURN_IF_ERROR(CheckWritable(flag, *path));
  }
  MOTLEY_RETURN_IF_ERROR(CheckReplaced("--timeline", flags.timeline));
  MOTLEY_RETURN_IF_ERROR(CheckReplaced("--plot", flags.plot));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--plot", flags.plot, "--trace", flags.job.trace));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--plot", flags.plot, "--timeline", flags.timeline));
  return CheckApart("--timeline", flags.timeline, "--trace", flags.job.trace);
}

std::string NameOf(const SimulateFlags& flags, const Simulation& sim) {
  const std::string& name = sim.options.cluster.name;
  return name.empty() ? flags.cluster : name;
}

ComparedRun RunOf(const ComparedCode& what, const JobPlan& plan, SimSummary summary) {
  ComparedRun run;
  run.name = what.tolerate ? fmt::format("{}, tolerates {}", what.code, *what.tolerate) : what.code;
  run.code = what.code;
  run.tolerate = plan.job.tolerate;
  run.tolerate_at_end = summary.tolerates;
  if (!SchemeNamed(what.code).exact) {
    run.name += " (not exact)";
    run.note = ApproximateLine(summary.approximate.steps, summary.steps,
                               summary.approximate.mean_error(), summary.approximate.max_error);
  }
  run.step_seconds = std::move(summary.settled_seconds);
  run.seed_means = std::move(summary.seed_means);
  run.discarded_steps = summary.discarded_steps;
  return run;
}

Result<int> Report(const SimulateFlags& flags, const Comparison& comparison) {
  const int code =
      PrintResult(flags.job.json ? CompareJson(comparison)
                                 : CompareTable(comparison, TerminalColumns(STDOUT_FILENO)));
  if (!flags.plot.empty()) MOTLEY_RETURN_IF_ERROR(WriteFile(flags.plot, CompareSvg(comparison)));
  return code;
}

Result<int> RunOne(const SimulateFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(Simulation sim, PrepareSimulation(flags));
  if (const std::string idle = flags.job.WithoutEffect(); !idle.empty()) Warn(idle);
  TraceRecorder trace;
  const bool traced = !flags.job.trace.empty() || !flags.timeline.empty();
  MOTLEY_ASSIGN_OR_RETURN(SimSummary summary, RunSeeds(flags, sim, traced ? &trace : nullptr));
  std::string text = flags.job.json ? SimJson(sim.plan, sim.options.cluster.gradient_bytes,
                                              flags.seeds, summary, sim.replay)
                                    : SimTable(sim.plan, flags.seeds, summary);
  if (sim.replay && !flags.job.json) text += ReplayText(*sim.replay, flags.seeds, summary);
  const int code = PrintResult(text);
  if (!flags.job.trace.empty()) MOTLEY_RETURN_IF_ERROR(WriteFile(flags.job.trace, trace.Json()));
  if (!flags.timeline.empty()) MOTLEY_RETURN_IF_ERROR(DrawTimeline(flags, trace));
  if (flags.plot.empty()) return code;
  Comparison alone;
  alone.cluster = NameOf(flags, sim);
  alone.steps = sim.plan.job.steps;
  alone.counted_from = summary.settled_from;
  alone.ideal_seconds = summary.ideal_seconds;
  alone.runs.push_back(RunOf({flags.job.code, std::nullopt}, sim.plan, std::move(summary)));
  MOTLEY_RETURN_IF_ERROR(WriteFile(flags.plot, CompareSvg(alone)));
  return code;
}

Result<int> Run(const SimulateFlags& flags) {
  MOTLEY_RETURN_IF_ERROR(CheckOutputs(flags));
  if (flags.compare.empty()) return RunOne(flags);
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<ComparedCode> codes, ParseCompared(flags.compare));
  MOTLEY_ASSIGN_OR_RETURN(const Comparison comparison, CompareCodes(flags, codes));
  return Report(flags, comparison);
}

}  // namespace

Result<Comparison> CompareCodes(const SimulateFlags& flags,
                                const std::vector<ComparedCode>& codes) {
  SimulateFlags each = flags;
  if (!flags.given.seeds) each.seeds = kComparedSeeds;
  if (!flags.given.steps) each.job.options.steps = kComparedSteps;
  Comparison comparison;
  for (const ComparedCode& code : codes) {
    each.job.code = code.code;
    each.job.options.tolerate = code.tolerate.value_or(flags.job.options.tolerate);
    each.job.tolerate_given = code.tolerate || flags.job.tolerate_given;
    Result<Simulation> sim = PrepareSimulation(each);
    if (!sim.ok()) return sim.status().WithContext("--compare " + code.code);
    Result<SimSummary> summary = RunSeeds(each, *sim, nullptr);
    if (!summary.ok()) return summary.status().WithContext("--compare " + code.code);
    comparison.cluster = NameOf(flags, *sim);
    comparison.steps = sim->plan.job.steps;
    comparison.counted_from = summary->settled_from;
    comparison.ideal_seconds = summary->ideal_seconds;
    comparison.runs.push_back(RunOf(code, sim->plan, *std::move(summary)));
  }
  return comparison;
}

int RunSimulate(const SimulateFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
