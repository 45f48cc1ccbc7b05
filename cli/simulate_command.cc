// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_command.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "api/event_stream.h"
#include "api/job_plan.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/replay_file.h"
#include "cli/report.h"
#include "cli/timeline.h"
#include "cli/trace.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "sim/sim_cluster.h"
#include "training/model.h"
#include "training/model_data.h"

namespace motley {
namespace {

// Of the made-up data set, at least. A job with more of them per step counts them only.
constexpr uint32_t kSamples = 4096;
constexpr uint32_t kFeatures = 16;
constexpr uint32_t kClasses = 4;

// All seeds together.
struct SimSummary {
  std::vector<double> step_seconds;
  double ideal_seconds = 0;
  double wall_seconds = 0;
  uint64_t steps = 0;
  uint64_t discarded_steps = 0;
  ApproximateRecord approximate;
  std::vector<WorkerLine> workers;  // Means over the seeds; lost: in any of them.

  void Add(const JobPlan& plan, const SimResult& result, uint32_t seeds);
};

void SimSummary::Add(const JobPlan& plan, const SimResult& result, uint32_t seeds) {
  step_seconds.insert(step_seconds.end(), result.job.step_seconds.begin(),
                      result.job.step_seconds.end());
  ideal_seconds += result.ideal_step_seconds / seeds;
  wall_seconds += result.job.wall_seconds;
  steps += result.job.steps;
  discarded_steps += result.job.discarded_steps;
  approximate.steps += result.job.approximate.steps;
  approximate.error_sum += result.job.approximate.error_sum;
  approximate.max_error = std::max(approximate.max_error, result.job.approximate.max_error);
  const std::vector<WorkerLine> lines = WorkerLines(plan, result.job);
  if (workers.empty()) workers.resize(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    WorkerLine& sum = workers[i];
    sum.worker = lines[i].worker;
    sum.name = lines[i].name;
    sum.relative_speed += lines[i].relative_speed / seeds;
    sum.share += lines[i].share / seeds;
    sum.samples += lines[i].samples / seeds;
    sum.steps_in_time += lines[i].steps_in_time / seeds;
    sum.late += lines[i].late / seeds;
    sum.held_bytes = std::max(sum.held_bytes, lines[i].held_bytes);
    sum.lost = sum.lost || lines[i].lost;
  }
}

// The cluster of a file, or made from speeds: `speed / sample time` samples per second each.
Result<ClusterProfile> DescribeCluster(const SimulateFlags& flags, const JobRequest& request,
                                       const std::optional<ReplayFile>& replay) {
  if (replay && replay->cluster) {
    if (flags.cluster.empty() && flags.job.speeds.empty()) return *replay->cluster;
    return Status::InvalidArgument(
        "--replay: rounds at several loads stand for the whole cluster. Leave --cluster and "
        "--worker-speeds out");
  }
  if (!flags.cluster.empty()) {
    if (!flags.job.speeds.empty() || !flags.job.sample_time.empty()) {
      return Status::InvalidArgument(
          "--cluster: the file has the speeds. Leave --worker-speeds and --sample-time out");
    }
    return LoadClusterProfile(flags.cluster);
  }
  MOTLEY_ASSIGN_OR_RETURN(const JobPlan plan, PlanJob(request, 0));
  std::vector<double> speeds = plan.speeds;
  speeds.resize(plan.job.workers, 1);
  const double sample_seconds = ToSeconds(plan.sample_time.value_or(std::chrono::milliseconds(1)));
  ClusterProfile cluster;
  cluster.name = "command line";
  for (size_t i = 0; i < speeds.size(); ++i) {
    WorkerProfile worker;
    worker.device.name = fmt::format("worker-{}", i);
    worker.device.samples_per_second = speeds[i] / sample_seconds;
    cluster.workers.push_back(worker);
  }
  return cluster;
}

// What was replayed, for how long, and what was assumed.
std::string ReplayText(const ReplayFile& replay, uint32_t seeds, const SimSummary& summary) {
  std::string text =
      fmt::format("replayed {}: {} steps of {} workers; {:.4g} s in all", replay.path,
                  replay.times->steps(), replay.times->workers(), summary.wall_seconds / seeds);
  if (replay.wait_for_all_seconds > 0) {
    text += fmt::format(" ({:.4g} s for all rounds, each waiting for equal shares of everybody)",
                        replay.wait_for_all_seconds);
  }
  text += "\nassumed:\n";
  for (const std::string& sentence : replay.assumed) text += fmt::format("- {}\n", sentence);
  return text;
}

std::string SimTable(const JobPlan& plan, uint32_t seeds, const SimSummary& summary) {
  const double mean = Mean(summary.step_seconds);
  std::string text = WorkerTable(summary.workers) + "\n";
  text += fmt::format("code {}, tolerates {}; {} steps over {} seed{}, {} discarded\n",
                      plan.job.code, plan.job.tolerate, summary.steps, seeds, seeds == 1 ? "" : "s",
                      summary.discarded_steps);
  if (plan.job.code == "approximate") {
    text += ApproximateLine(summary.approximate.steps, summary.steps,
                            summary.approximate.mean_error(), summary.approximate.max_error);
  }
  text += fmt::format("step mean {:.2f} ms, p99 {:.2f} ms, ideal {:.2f} ms ({:.2f} times)\n",
                      mean * 1e3, Quantile(summary.step_seconds, 0.99) * 1e3,
                      summary.ideal_seconds * 1e3,
                      summary.ideal_seconds > 0 ? mean / summary.ideal_seconds : 0);
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

// `gradient_bytes`: of the cluster's file; 0: those of the small model that was trained.
std::string SimJson(const JobPlan& plan, uint64_t gradient_bytes, uint32_t seeds,
                    const SimSummary& summary, const std::optional<ReplayFile>& replay) {
  auto workers = nlohmann::ordered_json::array();
  for (const WorkerLine& line : summary.workers) {
    workers.push_back({{"name", line.name},
                       {"relative_speed", line.relative_speed},
                       {"share", line.share},
                       {"samples", line.samples},
                       {"held_bytes", line.held_bytes},
                       {"steps_in_time", line.steps_in_time},
                       {"late", line.late},
                       {"lost", line.lost}});
  }
  nlohmann::ordered_json json = {
      {"scheme", plan.job.code},
      {"tolerate", plan.job.tolerate},
      {"parts", HasParts(plan.job.code) ? plan.job.parts : 1},
      {"gradient_bytes", gradient_bytes},
      {"shares", plan.job.shares == Shares::kEqual ? "equal" : "proportional"},
      {"seeds", seeds},
      {"steps", summary.steps},
      {"step_seconds",
       {{"mean", Mean(summary.step_seconds)}, {"p99", Quantile(summary.step_seconds, 0.99)}}},
      {"ideal_seconds", summary.ideal_seconds},
      {"discarded_steps", summary.discarded_steps},
      {"workers", workers}};
  if (plan.job.code == "approximate") {
    json["approximate"] = {{"steps", summary.approximate.steps},
                           {"mean_error", summary.approximate.mean_error()},
                           {"max_error", summary.approximate.max_error}};
  }
  if (replay) json["replay"] = ReplayJson(*replay, seeds, summary);
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// Runs one seed; kInternal when an invariant broke.
Result<SimResult> RunSeed(const SimOptions& options, const Dataset& data, JobObserver* observer) {
  MOTLEY_ASSIGN_OR_RETURN(SimResult result, Simulate(options, data, observer));
  const std::string where = fmt::format("seed {}", options.seed);
  if (!result.violations.empty()) {
    return Status::Internal(
        fmt::format("{}: {}. This is a bug of motley", where, result.violations.front()));
  }
  MOTLEY_RETURN_IF_ERROR(result.job.status.WithContext(where));
  return result;
}

// The job on its made-up data, ready to run.
struct Simulation {
  JobPlan plan;
  SimOptions options;
  Dataset data;
  std::optional<ReplayFile> replay;
};

// A replayed round is a step, and needs a sample for every partition.
JobFlags WithDefaults(const SimulateFlags& flags, const std::optional<ReplayFile>& replay) {
  JobFlags job = flags.job;
  if (!replay) return job;
  if (!flags.given.steps) job.steps = replay->times->steps();
  if (replay->cluster && !flags.given.batch) job.batch = kSamples;
  return job;
}

// Whole batches: every step has `batch` samples, the last one of an epoch too.
uint64_t SamplesFor(uint32_t batch) { return (kSamples + uint64_t{batch} - 1) / batch * batch; }

// Everything that is printed is times and who did what. Where the length of the vectors is known,
// from the cluster's file or because a batch is too large to compute with, nothing is computed.
Status ChooseTrainer(uint64_t samples, Simulation& sim) {
  JobOptions& job = sim.plan.job;
  uint64_t& gradient_bytes = sim.options.cluster.gradient_bytes;
  const uint32_t classes = ClassesFor(job.model.name, kClasses);
  job.model.features = kFeatures;
  job.model.classes = classes;
  if (job.batch > kSamples) {
    sim.options.samples = samples;
    if (gradient_bytes == 0) {
      MOTLEY_ASSIGN_OR_RETURN(const auto model, Model::Create(job.model));
      gradient_bytes = model->parameter_count() * sizeof(float);
    }
  } else {
    sim.data = MakeSyntheticDataset(static_cast<uint32_t>(samples), kFeatures,
                                    classes == 0 ? kClasses : classes, job.seed);
    sim.data.classes = classes;  // Without classes: their numbers as real numbers.
  }
  if (gradient_bytes > 0) sim.options.trainer = SimTrainer::kCostOnly;
  return Status::Ok();
}

// Whether the file can stand for this cluster's times.
Status CheckReplay(const ReplayFile& replay, size_t workers) {
  if (replay.times->workers() <= workers) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--replay: '{}' has {} workers, and the cluster {}: give the --cluster that was "
                  "recorded with it",
                  replay.path, replay.times->workers(), workers));
}

Result<Simulation> Prepare(const SimulateFlags& flags) {
  Simulation sim;
  if (!flags.replay.empty()) {
    const uint32_t batch = flags.given.batch ? flags.job.batch : kSamples;
    MOTLEY_ASSIGN_OR_RETURN(sim.replay, OpenReplayFile(flags.replay, batch));
    sim.options.replay = sim.replay->times;
  }
  const JobFlags job_flags = WithDefaults(flags, sim.replay);
  const std::string faults = job_flags.JoinedFaults();
  MOTLEY_ASSIGN_OR_RETURN(const JobRequest request, ReadJobOptions(OptionsOf(job_flags, faults)));
  MOTLEY_ASSIGN_OR_RETURN(sim.options.cluster, DescribeCluster(flags, request, sim.replay));
  const size_t workers = sim.options.cluster.workers.size();
  if (workers == 0 || workers > kMostSimulatedWorkers) {
    return Status::InvalidArgument(
        fmt::format("{} workers cannot be simulated. Describe between 1 and {}", workers,
                    kMostSimulatedWorkers));
  }
  if (sim.replay) MOTLEY_RETURN_IF_ERROR(CheckReplay(*sim.replay, workers));
  MOTLEY_ASSIGN_OR_RETURN(sim.plan, PlanJob(request, static_cast<uint32_t>(workers)));
  JobOptions& job = sim.plan.job;
  const uint64_t samples = SamplesFor(job.batch);
  MOTLEY_RETURN_IF_ERROR(ChooseTrainer(samples, sim));
  MOTLEY_RETURN_IF_ERROR(FitToData(request, samples, sim.plan));
  sim.options.job = job;
  sim.options.faults = sim.plan.faults;
  sim.options.max_virtual_seconds = std::numeric_limits<double>::infinity();
  return sim;
}

Result<SimSummary> RunSeeds(const SimulateFlags& flags, Simulation& sim, TraceRecorder& trace) {
  ProgressOptions shown;
  shown.style = ChooseProgressStyle(flags.job.quiet);
  shown.steps = sim.plan.job.steps * flags.seeds;
  shown.steps_per_epoch = static_cast<double>(sim.plan.steps_per_epoch);
  shown.workers = sim.plan.job.workers;
  shown.quiet_seconds = 1;
  shown.notices = flags.seeds == 1;
  Progress progress(shown);
  SimSummary summary;
  for (uint32_t i = 0; i < flags.seeds; ++i) {
    sim.options.seed = sim.plan.job.seed + i;
    sim.options.replay_from = i * sim.plan.job.steps;  // Each goes on where the one before ended.
    const bool traced = i == 0 && (!flags.job.trace.empty() || !flags.timeline.empty());
    EventStream events(
        [&](const motley_event& event) {
          progress.OnEvent(event);
          if (traced) trace.OnEvent(event);
        },
        nullptr);
    progress.Restart(i * sim.plan.job.steps);
    MOTLEY_ASSIGN_OR_RETURN(const SimResult result, RunSeed(sim.options, sim.data, &events));
    summary.Add(sim.plan, result, flags.seeds);
  }
  return summary;
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

// Other commands and tools read recorded times where this one writes its own.
Status CheckTrace(const std::string& path) {
  if (!path.ends_with(".csv") && !path.ends_with(".csv.gz")) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--trace writes Chrome trace events, and would replace '{}'. To read recorded "
                  "times from it, use --replay",
                  path));
}

Result<int> Run(const SimulateFlags& flags) {
  MOTLEY_RETURN_IF_ERROR(CheckTrace(flags.job.trace));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--trace", flags.job.trace, "--replay", flags.replay));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--timeline", flags.timeline, "--replay", flags.replay));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--trace", flags.job.trace, "--cluster", flags.cluster));
  MOTLEY_RETURN_IF_ERROR(CheckWritable("--trace", flags.job.trace));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--timeline", flags.timeline, "--cluster", flags.cluster));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--timeline", flags.timeline, "--trace", flags.job.trace));
  MOTLEY_RETURN_IF_ERROR(CheckWritable("--timeline", flags.timeline));
  MOTLEY_ASSIGN_OR_RETURN(Simulation sim, Prepare(flags));
  if (const std::string idle = flags.job.WithoutEffect(); !idle.empty()) Warn(idle);
  TraceRecorder trace;
  MOTLEY_ASSIGN_OR_RETURN(const SimSummary summary, RunSeeds(flags, sim, trace));
  std::string text = flags.job.json ? SimJson(sim.plan, sim.options.cluster.gradient_bytes,
                                              flags.seeds, summary, sim.replay)
                                    : SimTable(sim.plan, flags.seeds, summary);
  if (sim.replay && !flags.job.json) text += ReplayText(*sim.replay, flags.seeds, summary);
  const int code = PrintResult(text);
  if (!flags.job.trace.empty()) MOTLEY_RETURN_IF_ERROR(WriteFile(flags.job.trace, trace.Json()));
  if (!flags.timeline.empty()) MOTLEY_RETURN_IF_ERROR(DrawTimeline(flags, trace));
  return code;
}

}  // namespace

int RunSimulate(const SimulateFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
