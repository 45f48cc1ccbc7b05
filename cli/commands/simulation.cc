// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/simulation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include "api/reports/event_stream.h"
#include "api/request/sync_plan.h"
#include "base/text.h"
#include "cli/terminal/progress.h"
#include "fmt/core.h"
#include "planner/auto/choose.h"
#include "runtime/worker_names.h"
#include "sim/simulated_scheme.h"
#include "training/models/model.h"
#include "training/models/model_data.h"

namespace motley {
namespace {

// Minimum size of the synthetic data set. A job with more samples per step only counts them.
constexpr uint32_t kSamples = 4096;
constexpr uint32_t kFeatures = 16;
constexpr uint32_t kClasses = 4;
constexpr size_t kMostNameBytes = 40;
constexpr double kNothing = 1e-3;  // A smaller share counts as no work.

// The cluster from a file or from speeds. A worker of a given speed computes `speed / sample time`
// samples per second.
Result<ClusterProfile> DescribeCluster(const SimulateFlags& flags, const JobRequest& request,
                                       const std::optional<ReplayFile>& replay) {
  if (replay && replay->cluster) {
    if (flags.cluster.empty() && flags.job.speeds.empty()) return *replay->cluster;
    return Status::InvalidArgument(
        "--replay: rounds at several loads describe the whole cluster. Leave --cluster and "
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

// The names in the file. Equal names are made different.
std::vector<std::string> NamesOf(const ClusterProfile& cluster) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    const std::string said = CleanText(cluster.workers[w].device.name, kMostNameBytes);
    std::string name = NumberedName(said, static_cast<WorkerId>(w));
    for (size_t more = 2; !taken.insert(name).second; ++more)
      name = fmt::format("{}-{}", said, more);
    names.push_back(std::move(name));
  }
  return names;
}

// A recorded run includes the times of its vectors, even on the server's link.
ServerRates RatesFor(const ClusterProfile& cluster, const std::optional<ReplayFile>& replay) {
  if (!replay) return ServerRatesOf(cluster);
  return {.in = 0, .out = cluster.server ? cluster.server->out : 0};
}

TraceSpan TransferSpan(const SimTransfer& transfer) {
  TraceSpan span;
  span.kind = transfer.to_server ? TraceSpan::Kind::kSends : TraceSpan::Kind::kReceives;
  span.track = transfer.worker + 1;
  span.begin_ns = static_cast<uint64_t>(transfer.begin.time_since_epoch().count());
  span.end_ns = static_cast<uint64_t>(transfer.end.time_since_epoch().count());
  span.step = transfer.step;
  return span;
}

// A replayed round is a step. It needs a sample for every partition.
JobFlags WithDefaults(const SimulateFlags& flags, const std::optional<ReplayFile>& replay) {
  JobFlags job = flags.job;
  if (!replay) return job;
  if (!flags.given.steps) job.options.steps = replay->times->steps();
  if (replay->cluster && !flags.given.batch) job.options.batch = kSamples;
  return job;
}

// The number of samples, in whole batches: even the last step of an epoch has `batch` samples.
uint64_t SamplesFor(uint32_t batch) { return (kSamples + uint64_t{batch} - 1) / batch * batch; }

// Only times and the workers' part are printed. So nothing is computed if the length of the vectors
// is known from the cluster file, or if a batch is too large to compute. Data that are there
// already are trained on.
Status ChooseTrainer(uint64_t samples, Simulation& sim) {
  JobOptions& job = sim.plan.job;
  uint64_t& gradient_bytes = sim.options.cluster.gradient_bytes;
  if (sim.data.rows() > 0) {
    job.model.features = sim.data.features;
    job.model.classes = sim.data.classes;
    gradient_bytes = 0;
    return Status::Ok();
  }
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
    sim.data.classes = classes;  // A model without classes gets class numbers as real labels.
  }
  if (gradient_bytes > 0) sim.options.trainer = SimTrainer::kCostOnly;
  return Status::Ok();
}

// Checks that the file has times for no more workers than the cluster.
Status CheckReplay(const ReplayFile& replay, size_t workers) {
  if (replay.times->workers() <= workers) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--replay: '{}' has {} workers, and the cluster {}: give the --cluster that was "
                  "recorded with it",
                  replay.path, replay.times->workers(), workers));
}

// Shard servers are on machines of their own, with links like the server's, as motley plan assumes.
LinkProfile LinkOfShardServer(const ClusterProfile& cluster) {
  const ServerRates rates = ServerRatesOf(cluster);
  return {.bytes_per_second = rates.out, .down = LinkDirection{0, rates.in}};
}

// Fills in everything except the cluster and the replay.
Status FillIn(const JobRequest& request, Simulation& sim) {
  const size_t workers = sim.options.cluster.workers.size();
  if (workers == 0 || workers > kMostSimulatedWorkers) {
    return Status::InvalidArgument(
        fmt::format("{} workers cannot be simulated. Describe between 1 and {}", workers,
                    kMostSimulatedWorkers));
  }
  if (sim.replay) MOTLEY_RETURN_IF_ERROR(CheckReplay(*sim.replay, workers));
  MOTLEY_ASSIGN_OR_RETURN(sim.plan, PlanJob(request, static_cast<uint32_t>(workers)));
  JobOptions& job = sim.plan.job;
  MOTLEY_RETURN_IF_ERROR(PlanReduction(request, /*here=*/false, job));
  if (job.holders == JobOptions::Holders::kShardServers) {
    sim.options.shard_server_link = LinkOfShardServer(sim.options.cluster);
  } else {
    job.shard_servers = 0;  // The cluster file has no spare ones.
  }
  if (job.sync.one_each) MOTLEY_RETURN_IF_ERROR(CheckOwnUpdates(job));
  MOTLEY_RETURN_IF_ERROR(CheckLocalSteps(job));
  MOTLEY_RETURN_IF_ERROR(PlanLocalSteps(request, job));
  const uint64_t samples = sim.data.rows() > 0 ? sim.data.rows() : SamplesFor(job.batch);
  MOTLEY_RETURN_IF_ERROR(ChooseTrainer(samples, sim));
  MOTLEY_RETURN_IF_ERROR(FitToData(request, samples, sim.plan));
  if (sim.options.trainer == SimTrainer::kCostOnly && !sim.replay) {
    job.slice_length = SimulatedSliceLength(sim.options.cluster.gradient_bytes,
                                            job.holders != JobOptions::Holders::kServer);
  }
  sim.options.cluster.server = RatesFor(sim.options.cluster, sim.replay);
  sim.options.names = NamesOf(sim.options.cluster);
  sim.options.job = job;
  sim.options.faults = sim.plan.faults;
  sim.options.max_virtual_seconds = std::numeric_limits<double>::infinity();
  return Status::Ok();
}

}  // namespace

Result<Simulation> PrepareSimulation(const SimulateFlags& flags) {
  Simulation sim;
  if (!flags.replay.empty()) {
    const uint32_t batch = flags.given.batch ? flags.job.options.batch : kSamples;
    MOTLEY_ASSIGN_OR_RETURN(sim.replay, OpenReplayFile(flags.replay, batch));
    sim.options.replay = sim.replay->times;
  }
  const JobFlags job_flags = WithDefaults(flags, sim.replay);
  const std::string faults = job_flags.JoinedFaults();
  MOTLEY_ASSIGN_OR_RETURN(const JobRequest request, ReadJobOptions(OptionsOf(job_flags, faults)));
  MOTLEY_ASSIGN_OR_RETURN(sim.options.cluster, DescribeCluster(flags, request, sim.replay));
  MOTLEY_RETURN_IF_ERROR(FillIn(request, sim));
  return sim;
}

Result<Simulation> PrepareSimulation(const SimulateFlags& flags, const ClusterProfile& cluster) {
  Simulation sim;
  const std::string faults = flags.job.JoinedFaults();
  MOTLEY_ASSIGN_OR_RETURN(const JobRequest request, ReadJobOptions(OptionsOf(flags.job, faults)));
  sim.options.cluster = cluster;
  MOTLEY_RETURN_IF_ERROR(FillIn(request, sim));
  return sim;
}

Result<Simulation> PrepareTraining(const SimulateFlags& flags, Dataset data) {
  Simulation sim;
  const std::string faults = flags.job.JoinedFaults();
  MOTLEY_ASSIGN_OR_RETURN(const JobRequest request, ReadJobOptions(OptionsOf(flags.job, faults)));
  MOTLEY_ASSIGN_OR_RETURN(sim.options.cluster, DescribeCluster(flags, request, std::nullopt));
  sim.data = std::move(data);
  sim.options.check_sums = false;
  MOTLEY_RETURN_IF_ERROR(FillIn(request, sim));
  return sim;
}

Status CheckSimulated(const SimOptions& options, const SimResult& result) {
  const std::string where = fmt::format("seed {}", options.seed);
  if (!result.violations.empty()) {
    return Status::Internal(
        fmt::format("{}: {}. This is a bug of motley", where, result.violations.front()));
  }
  return result.job.status.WithContext(where);
}

Result<SimSummary> RunSeeds(const SimulateFlags& flags, Simulation& sim, TraceRecorder* trace) {
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
    sim.options.seed = sim.options.job.seed = sim.plan.job.seed + i;
    // Each seed continues the replay of the one before.
    sim.options.replay_from = i * sim.plan.job.steps;
    TraceRecorder* const traced = i == 0 ? trace : nullptr;
    std::string placement;
    EventStream events(
        [&](const motley_event& event) {
          // The report of one code says who sums the vector, so progress does not.
          const bool reported = flags.compare.empty() && placement != events.reduction();
          placement = events.reduction();
          if (!reported) progress.OnEvent(event);
          if (traced != nullptr) traced->OnEvent(event);
        },
        nullptr);
    progress.Restart(i * sim.plan.job.steps);
    sim.options.on_transfer = nullptr;
    if (traced != nullptr) {
      sim.options.on_transfer = [traced](const SimTransfer& transfer) {
        traced->OnTransfer(TransferSpan(transfer), transfer.first);
      };
    }
    MOTLEY_ASSIGN_OR_RETURN(const SimResult result, Simulate(sim.options, sim.data, &events));
    MOTLEY_RETURN_IF_ERROR(CheckSimulated(sim.options, result));
    if (i == 0) summary.placement = ReduceJson(sim.plan.job, events.reduction());
    summary.Add(sim.plan, result, flags.seeds);
  }
  return summary;
}

void SimSummary::Add(const JobPlan& plan, const SimResult& result, uint32_t seeds) {
  step_seconds.insert(step_seconds.end(), result.job.step_seconds.begin(),
                      result.job.step_seconds.end());
  std::vector<double> settled = result.job.step_seconds;
  settled_from = settled.size() >= 2 * kLearningSteps ? kLearningSteps : 0;
  settled.erase(settled.begin(), settled.begin() + settled_from);
  seed_means.push_back(Mean(settled));
  settled_seconds.insert(settled_seconds.end(), settled.begin(), settled.end());
  tolerates = workers.empty() ? result.job.scheduler.tolerates
                              : std::min(tolerates, result.job.scheduler.tolerates);
  ideal_seconds += result.ideal_step_seconds / seeds;
  wall_seconds += result.job.wall_seconds;
  steps += result.job.steps;
  discarded_steps += result.job.discarded_steps;
  approximate.steps += result.job.approximate.steps;
  approximate.error_sum += result.job.approximate.error_sum;
  approximate.max_error = std::max(approximate.max_error, result.job.approximate.max_error);
  const std::vector<CodeChoice>& choices = result.job.scheduler.choices;
  chosen.push_back(choices.empty() ? CodeChoice{.code = kLeases.scheme} : choices.back());
  const auto computed =
      static_cast<double>(plan.job.batch) * static_cast<double>(result.job.steps) / plan.job.turns;
  computing.push_back(0);
  for (const WorkerStats& worker : result.job.scheduler.workers) {
    if (worker.share > kNothing) ++computing.back();
    batches += static_cast<double>(worker.samples) / computed / seeds;
  }
  const std::vector<WorkerLine> lines = WorkerLines(plan, result.job);
  if (workers.empty()) workers.resize(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    WorkerLine& sum = workers[i];
    sum.worker = lines[i].worker;
    sum.name = lines[i].name;
    sum.relative_speed += lines[i].relative_speed / seeds;
    sum.share += lines[i].share / seeds;
    sum.share_at_end += lines[i].share_at_end / seeds;
    sum.samples += lines[i].samples / seeds;
    sum.steps_in_time += lines[i].steps_in_time / seeds;
    sum.late += lines[i].late / seeds;
    sum.held_bytes = std::max(sum.held_bytes, lines[i].held_bytes);
    sum.lost = sum.lost || lines[i].lost;
  }
}

}  // namespace motley
