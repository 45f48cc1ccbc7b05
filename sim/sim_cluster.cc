// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "coding/schemes.h"
#include "data/index_source.h"
#include "profiles/ideal_step.h"
#include "runtime/audit/job_gradient.h"
#include "runtime/observer_fan.h"
#include "runtime/saving/saved_job.h"
#include "runtime/survey/vector_placement.h"
#include "sim/checkers/audit_checker.h"
#include "sim/checkers/coverage_checker.h"
#include "sim/checkers/data_wait_checker.h"
#include "sim/checkers/gradient_checker.h"
#include "sim/checkers/liveness_checker.h"
#include "sim/checkers/own_updates_checker.h"
#include "sim/checkers/placement_checker.h"
#include "sim/checkers/queue_checker.h"
#include "sim/checkers/shard_loss_checker.h"
#include "sim/checkers/step_checker.h"
#include "sim/checkers/tiling_checker.h"
#include "sim/data_arrivals.h"
#include "sim/digest_observer.h"
#include "sim/faults/fault_driver.h"
#include "sim/faults/recorded_times.h"
#include "sim/faults/shard_servers.h"
#include "sim/faults/sim_lives.h"
#include "sim/liveness_limit.h"
#include "sim/problems/quadratic.h"
#include "sim/problems/squares_trainer.h"
#include "sim/reached_states.h"
#include "sim/world/sim_process.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr uint64_t kStartDraws = 5;
constexpr uint64_t kJobDraws = 6;
constexpr double kStartSpreadSeconds = 0.02;  // Workers start within this time.
// How long the farewells of a finished job may take.
constexpr Duration kGoodbyeLimit = std::chrono::seconds(120);
constexpr Duration kServerAway = std::chrono::milliseconds(300);  // From its death to its restart.

bool Sane(const LinkDirection& way) {
  return way.latency_seconds >= 0 && way.bytes_per_second >= 0;
}

Status CheckOptions(const SimOptions& options) {
  const size_t described = options.cluster.workers.size();
  if (described != options.job.workers) {
    return Status::InvalidArgument(fmt::format(
        "the job has {} workers but the cluster describes {}", options.job.workers, described));
  }
  for (size_t i = 0; i < described; ++i) {
    const WorkerProfile& worker = options.cluster.workers[i];
    const bool sane = worker.device.samples_per_second > 0 && worker.device.overhead_seconds >= 0 &&
                      worker.device.jitter >= 0 && worker.device.knee_samples >= 0 &&
                      worker.device.tail_factor >= 0 && Sane(worker.link.Up()) &&
                      Sane(worker.link.Down());
    if (!sane) {
      return Status::InvalidArgument(fmt::format(
          "worker {} of the cluster needs samples_per_second above 0 and no negative value", i));
    }
  }
  if (options.trainer == SimTrainer::kCostOnly && options.cluster.gradient_bytes == 0) {
    return Status::InvalidArgument(
        "a cost-only simulation needs the cluster's gradient_bytes, the length of vectors");
  }
  if (options.samples > 0 && (options.trainer != SimTrainer::kCostOnly || options.data_bytes > 0)) {
    return Status::InvalidArgument(
        "'samples' needs a cost-only simulation and excludes data_bytes: such samples are not "
        "sent");
  }
  for (const double part : options.second_devices) {
    if (part == 0 || (part > 0 && part < 1 && options.trainer == SimTrainer::kBuiltIn)) continue;
    return Status::InvalidArgument(
        "second_devices must be parts of a speed, between 0 and 1, and need a built-in model");
  }
  if (options.shared_processors < 0) {
    return Status::InvalidArgument("shared_processors must be a number of processors, or 0");
  }
  if (!(options.max_virtual_seconds > 0)) {
    return Status::InvalidArgument("max_virtual_seconds must be above 0");
  }
  return CheckFaults(options.faults, options.job.workers, options.job.steps);
}

// The gradient that server and workers share in a cost-only simulation; null in others, and if the
// options are refused.
std::shared_ptr<Quadratic> QuadraticOf(const SimOptions& options, const Dataset& data) {
  const uint64_t samples = options.samples > 0 ? options.samples : data.rows();
  const auto partitions = PartitionCount(samples, options.job.workers);
  if (options.trainer != SimTrainer::kCostOnly || !partitions.ok()) return nullptr;
  if (options.cluster.gradient_bytes == 0) return nullptr;
  return std::make_shared<Quadratic>(
      options.job.seed, BatchSchedule(options.job.seed, PartitionSizes(samples, *partitions),
                                      options.job.batch, options.job.turns));
}

SimOptions CostOnly(SimOptions options, std::shared_ptr<Quadratic> quadratic) {
  options.job.modelled_floats =
      VectorLength((options.cluster.gradient_bytes + sizeof(float) - 1) / sizeof(float));
  options.vectors =
      ModelledVectors(options.cluster.gradient_bytes, std::max(1u, options.job.slice_length),
                      options.job.parts, ShardsFor(options.job, options.job.modelled_floats));
  options.job.slice_length = options.vectors.slice_length();
  // An optimizer that suits the job's model may not suit the quadratic one. One with a state has a
  // state here, too, because followers then get sums (docs/decisions/0052-followers-read.md).
  const bool state = OptimizerVectors(options.job.optimizer.name) > 0;
  options.job.optimizer = {.name = options.job.sync.own_momentum ? "nag"
                                   : state                       ? "momentum"
                                                                 : "sgd",
                           .learning_rate = 0.1,
                           .l2 = 0,
                           .momentum = 0};
  options.job.foreign = MakeQuadraticTrainer(std::move(quadratic),
                                             options.vectors.parameter_count(), options.calibrated);
  options.bring_trainer = [foreign = options.job.foreign] { return foreign; };
  return options;
}

// Three groups, at places that any shard may cut. One of them stands still.
void CutIntoGroups(const Dataset& data, JobOptions& job) {
  const MemorySource source(data);
  const auto gradient = JobGradient::Create(job, source.shape());
  if (!gradient.ok()) return;  // The job will refuse its options.
  const uint64_t count = (*gradient)->parameter_count();
  const double rate = job.optimizer.learning_rate, l2 = job.optimizer.l2;
  job.optimizer.groups = {{.end = count / 3, .learning_rate = rate, .l2 = l2},
                          {.end = count / 2 + 1, .learning_rate = 0, .l2 = l2},
                          {.end = count, .learning_rate = rate / 2}};
}

// Adds what a job needs and the simulated world decides.
SimOptions Completed(SimOptions options, const Dataset& data,
                     std::shared_ptr<Quadratic> quadratic) {
  options.job.job_id = Random(options.seed, Stream::kSimulation, kJobDraws).Next32() | 1;
  if (options.job.token.empty()) options.job.token = "simulated";
  if (options.shared_processors > 0) {
    options.processors = std::make_shared<SharedProcessors>();
    options.processors->count = options.shared_processors;
  }
  if (quadratic != nullptr) {
    options = CostOnly(std::move(options), std::move(quadratic));
  } else if (options.trainer != SimTrainer::kBuiltIn) {
    options.job.foreign = MakeSquaresTrainer(data, /*keeps_account=*/false);
    options.bring_trainer = [&data] { return MakeSquaresTrainer(data, /*keeps_account=*/true); };
  }
  if (options.grouped && quadratic == nullptr) CutIntoGroups(data, options.job);
  if (options.data_bytes > 0) {
    options.vectors.LengthenSamples(options.data_bytes / static_cast<double>(data.size_bytes()));
  }
  return options;
}

std::unique_ptr<DataSource> SourceOf(const SimOptions& options, const Dataset& data) {
  if (options.samples > 0) return std::make_unique<IndexSource>(options.samples);
  if (options.trainer == SimTrainer::kSquaresOwnData) {
    return std::make_unique<IndexSource>(data.rows());
  }
  return std::make_unique<MemorySource>(data);
}

std::vector<std::string> NamesOf(const SimOptions& options) {
  std::vector<std::string> names;
  for (WorkerId w = 0; w < options.job.workers; ++w) names.push_back(SimWorkerName(options, w));
  return names;
}

// The name of the worker that lies by the script (at most one does); empty: none.
std::string LiarOf(const SimOptions& options) {
  for (const Fault& fault : options.faults) {
    if (fault.kind == Fault::Kind::kLie) return SimWorkerName(options, fault.worker);
  }
  return "";
}

// One cluster from its first task to its last.
class Simulation {
 public:
  Simulation(const SimOptions& options, const Dataset& data, const Life& life)
      : quadratic_(QuadraticOf(options, data)),
        options_(Completed(options, data, quadratic_)),
        data_(data),
        source_(SourceOf(options, data)),
        life_(life),
        network_(options.seed) {}

  Status Prepare(JobObserver* observer) {
    MOTLEY_RETURN_IF_ERROR(CheckOptions(options_));
    for (WorkerId w = 0; w < options_.job.workers; ++w) {
      MOTLEY_ASSIGN_OR_RETURN(auto worker, WorkerProcess::Create(world_, network_, options_, w));
      workers_.push_back(std::move(worker));
    }
    MOTLEY_RETURN_IF_ERROR(servers_.Create());
    faults_ = std::make_unique<FaultDriver>(world_, network_, options_, workers_);
    observer_ = observer;
    return MakeServer();
  }

  // Makes the server and the checkers of what it does from here on.
  Status MakeServer() {
    MOTLEY_ASSIGN_OR_RETURN(
        server_, ServerProcess::Create(world_, network_, options_, *source_, &fan_, life_.store));
    MOTLEY_ASSIGN_OR_RETURN(
        gradients_, GradientChecker::Create(violations_, options_.job, *source_, quadratic_));
    const size_t length = gradients_->vector_length();
    const StepId first = options_.job.resume != nullptr ? options_.job.resume->step : 0;
    const bool at_workers = options_.job.holders != JobOptions::Holders::kServer;
    // Shards on workers count slices of their own range.
    const bool whole_rows = length <= options_.job.slice_length && !at_workers;
    const SyncMode& sync = options_.job.sync;
    if (sync.one_each) {
      updates_ = std::make_unique<OwnUpdatesChecker>(violations_, options_.job.workers, sync);
    } else {
      steps_ = std::make_unique<StepChecker>(violations_, whole_rows, first);
    }
    if (at_workers) losses_.emplace(violations_, reached_, options_.job);
    if (at_workers && steps_ && !options_.job.read_every_version) steps_->ExpectNoSums();
    const size_t on_links = std::max(length, options_.vectors.modelled_length());
    if (options_.replay != nullptr && replay_ == nullptr) MakeReplay(on_links);
    const Duration longest_step = LivenessLimit(options_, data_, on_links);
    most_seconds_ = options_.max_virtual_seconds;
    if (!std::isfinite(most_seconds_)) {
      most_seconds_ = ToSeconds(longest_step) * static_cast<double>(options_.job.steps + 1);
    }
    const Time quiet(FromSecondsSafe(options_.random_faults.until_seconds));
    liveness_ =
        std::make_unique<LivenessChecker>(violations_, std::max(quiet, world_.Now()), longest_step);
    arrivals_ = std::make_unique<DataArrivals>(reached_, NamesOf(options_), BlocksTaken());
    waits_ = std::make_unique<DataWaitChecker>(violations_, options_, *arrivals_, on_links);
    if (!liar_.empty()) {
      // In a short range of an owner, a lie may have the sketch of the right answer by chance.
      constexpr size_t kLeastRange = 16;
      const size_t range = length / ShardsFor(options_.job, length);
      const bool shows = !at_workers || range >= kLeastRange;
      gradients_->ExpectLies([this, shows](StepId step) {
        if (shows) audits_.Spoilt(step);
      });
    }
    fan_.Tell({replay_.get(), &digest_, steps_.get(), updates_.get(), tiling_.get(), &coverage_,
               options_.check_sums ? gradients_.get() : nullptr, placement_.get(), liveness_.get(),
               faults_.get(), &reached_, arrivals_.get(), waits_.get(), &audits_,
               losses_ ? &*losses_ : nullptr, observer_});
    return Status::Ok();
  }

  void MakeReplay(size_t floats) {
    const uint64_t rows = source_->shape().rows;
    const uint64_t batch = std::min<uint64_t>(options_.job.batch, rows);
    const uint64_t steps = (rows + batch - 1) / batch;  // Steps per epoch.
    const auto samples = [=](StepId step) {
      return static_cast<double>(std::min(batch, rows - step % steps * batch));
    };
    const auto bytes = static_cast<double>(WireBytes(options_.job.wire, floats));
    replay_ = std::make_unique<ReplayDriver>(options_, workers_, samples, bytes);
  }

  SimResult Run() {
    StartAll();
    const Time limit(FromSecondsSafe(most_seconds_));
    bool ended = RunTo(limit, [this] { return Over() || PowerOff(); });
    if (life_.revive && PowerOff()) {
      ReviveServer();
      ended = RunTo(limit, [this] { return Over() || PowerOff(); });
    }
    const Time end = world_.Now();
    if (PowerOff()) {
      PullThePlug();
      return Collect(true, end);
    }
    if (!ended) liveness_->StillRunning(end, LiveWorkers());
    faults_->Stop();
    servers_.Stop();
    if (!server_->result()) {
      server_->Stop(ended ? "all requested steps are done" : "the simulated time is over");
      RunTo(end + kGoodbyeLimit, [this] { return server_->result().has_value(); });
    }
    const QueueLimits limits = LimitQueues(options_.job, data_, gradients_->vector_length());
    CheckQueue(limits.server, "the server", server_->max_queued_bytes(), violations_);
    for (WorkerId w = 0; w < workers_.size(); ++w) {
      CheckQueue(limits.worker, fmt::format("worker {}", w),
                 workers_[w]->transport().max_queued_bytes(), violations_);
    }
    live_at_end_ = faults_->targets().LiveWorkers();
    TearDown();
    if (ended && options_.job.audit_fraction == 1) audits_.Finish();
    return Collect(ended, end);
  }

 private:
  static Duration FromSecondsSafe(double seconds) { return FromSeconds(std::min(seconds, 1e8)); }

  DataArrivals::Taken BlocksTaken() const {
    if (CallerOwned(source_->shape())) return nullptr;
    return [this](WorkerId process) { return workers_[process]->transport().blocks_taken(); };
  }

  void StartAll() {
    server_->Start();
    Random random(options_.seed, Stream::kSimulation, kStartDraws);
    for (const auto& worker : workers_) {
      const auto index = static_cast<size_t>(&worker - workers_.data());
      const auto& late = options_.start_seconds;
      const double delay =
          kStartSpreadSeconds * random.NextDouble() + (index < late.size() ? late[index] : 0);
      world_.After(FromSeconds(delay), [raw = worker.get()] { raw->Start(); });
    }
    servers_.Start();
    faults_->Start();
  }

  // Runs until `done`. False if `limit` passes or no task is left before that.
  template <typename Condition>
  bool RunTo(Time limit, Condition done) {
    world_.RunUntil([&] { return done() || world_.Now() > limit; });
    return done();
  }

  // The job ended by itself, or did stop_after_steps.
  bool Over() const {
    const uint64_t applied = steps_ != nullptr ? steps_->applied() : updates_->applied();
    const bool enough = options_.stop_after_steps > 0 && applied >= options_.stop_after_steps;
    return enough || server_->result().has_value();
  }

  bool PowerOff() const {
    if (life_.store == nullptr || server_->result()) return false;
    const bool due = life_.power_off_seconds > 0 &&
                     world_.Now() >= Time(FromSecondsSafe(life_.power_off_seconds));
    return due || !life_.store->powered();
  }

  // Nothing informs the workers. They notice the loss, and look for a server at the same address.
  void ReviveServer() {
    life_.power_off_seconds = 0;
    server_->Kill();
    dead_server_ = std::move(server_);
    const Time back = world_.Now() + kServerAway;
    world_.RunUntilTime(back);
    options_.job.resume = std::exchange(life_.revive, nullptr)();
    fan_.Tell({});
    placement_ = std::make_unique<PlacementChecker>(violations_, options_.job.workers);
    tiling_ = std::make_unique<TilingChecker>(violations_, options_.job.workers);
    const Status made = MakeServer();
    if (!made.ok()) violations_.Add("the server could not be started again: " + made.ToString());
    server_->Start();
  }

  void PullThePlug() {
    power_cut_ = true;
    faults_->Stop();
    servers_.Stop();
    server_->Kill();
    servers_.Kill();
    for (const auto& worker : workers_) {
      if (!worker->killed()) worker->Kill(true);
    }
    while (world_.RunOne()) {
    }
  }

  uint32_t LiveWorkers() const {
    return static_cast<uint32_t>(
        std::count_if(workers_.begin(), workers_.end(), [](const auto& w) { return w->alive(); }));
  }

  // All processes end in good order, and return what they borrowed.
  void TearDown() {
    for (const auto& worker : workers_) {
      if (!worker->started() && !worker->killed()) worker->Kill(true);  // It would come too late.
    }
    // A paused worker learns of the end only when it continues.
    const Time heard = std::max(world_.Now(), faults_->targets().quiet_from()) + kGoodbyeLimit;
    RunTo(heard, [this] { return LiveWorkers() == 0 && !servers_.alive(); });
    for (WorkerId w = 0; w < workers_.size(); ++w) {
      if (workers_[w]->alive()) {
        violations_.Add(fmt::format("I10: worker {} was never notified that the job is over", w));
      }
    }
    if (!server_->result()) violations_.Add("I10: the server did not finish when it was stopped");
    server_->TearDown(violations_);
    for (const auto& worker : workers_) worker->TearDown(violations_);
    servers_.TearDown(violations_);
    world_.RunUntilTime(world_.Now());  // Runs what was posted last.
    server_->CheckQuiet(violations_);
    for (const auto& worker : workers_) worker->CheckQuiet(violations_);
    servers_.CheckQuiet(violations_);
    // The tasks that are left must be harmless: thaws, ends of slow phases.
    while (world_.RunOne()) {
    }
  }

  SimResult Collect(bool ended, Time end) {
    SimResult result;
    if (server_->result()) result.job = *server_->result();
    if (!ended) {
      const bool stuck = ToSeconds(end) < ToSeconds(FromSecondsSafe(most_seconds_));
      result.job.status = Status::Unavailable(fmt::format(
          "the job was not done after {:.3f} simulated seconds, at step {} of {}{}", ToSeconds(end),
          result.job.steps, options_.job.steps, stuck ? ": no task is left to run" : ""));
    }
    for (const auto& [state, times] : faults_->Reached()) reached_.Count(state, times);
    reached_.Count("step beside data under way", waits_->judged());
    reached_.Count("liar named", audits_.named());
    reached_.Count("shard server died", servers_.deaths());
    if (losses_) losses_->CheckEnd(result.job);
    reached_.Finish(result.job);
    result.reached = reached_.reached();
    Digest& digest = digest_.digest();
    for (const auto& worker : workers_) worker->MixLastDraws(digest);
    servers_.MixLastDraws(digest);
    digest.Mix(faults_->LastDraw());
    digest.Mix(world_.tasks_run());
    result.digest = digest.value();
    result.tasks_run = world_.tasks_run();
    result.virtual_seconds = ToSeconds(end);
    result.power_cut = power_cut_;
    const size_t floats = std::max(gradients_->vector_length(), options_.vectors.modelled_length());
    result.ideal_step_seconds = IdealStepSeconds(
        options_.cluster.workers, options_.rates_of_servers(),
        static_cast<double>(WireBytes(options_.job.wire, floats)), options_.job.batch);
    if (replay_ != nullptr && !replay_->ideal_seconds().empty()) {
      result.ideal_seconds = replay_->ideal_seconds();
      result.ideal_step_seconds =
          std::accumulate(result.ideal_seconds.begin(), result.ideal_seconds.end(), 0.0) /
          static_cast<double>(result.ideal_seconds.size());
    }
    const bool unseen = options_.trainer == SimTrainer::kCostOnly && result.job.status.ok() &&
                        SchemeNamed(options_.job.code).exact && liar_.empty();
    if (unseen) gradients_->CheckLast(result.job.steps, *result.job.parameters);
    result.live_workers = live_at_end_;
    result.serial_difference = gradients_->serial_difference();
    result.violations = violations_.list();
    return result;
  }

  const std::shared_ptr<Quadratic> quadratic_;
  SimOptions options_;
  const Dataset& data_;
  const std::unique_ptr<DataSource> source_;
  Life life_;
  JobObserver* observer_ = nullptr;
  double most_seconds_ = 0;  // Virtual time.
  bool power_cut_ = false;
  Violations violations_;
  DigestObserver digest_;
  ReachedStates reached_{options_.job};
  std::unique_ptr<PlacementChecker> placement_ =
      std::make_unique<PlacementChecker>(violations_, options_.job.workers);
  std::unique_ptr<TilingChecker> tiling_ =
      std::make_unique<TilingChecker>(violations_, options_.job.workers);
  CoverageChecker coverage_{violations_};
  const std::string liar_ = LiarOf(options_);
  AuditChecker audits_{violations_, liar_};
  std::unique_ptr<StepChecker> steps_;          // Null if each worker has updates of its own,
  std::unique_ptr<OwnUpdatesChecker> updates_;  // and this one otherwise.
  std::unique_ptr<GradientChecker> gradients_;
  std::unique_ptr<LivenessChecker> liveness_;
  std::unique_ptr<DataArrivals> arrivals_;
  std::unique_ptr<DataWaitChecker> waits_;
  std::optional<ShardLossChecker> losses_;  // None if the server holds all shards.
  ObserverFan fan_;
  VirtualLoop world_;
  SimNetwork network_;
  FaultDriver::Workers workers_;
  ShardServers servers_{world_, network_, options_};
  std::unique_ptr<FaultDriver> faults_;
  std::unique_ptr<ReplayDriver> replay_;        // Null: nothing is replayed.
  std::unique_ptr<ServerProcess> dead_server_;  // The one before a revival; null: none.
  std::unique_ptr<ServerProcess> server_;
  uint32_t live_at_end_ = 0;
};

}  // namespace

Result<SimResult> SimulateLife(const SimOptions& options, const Dataset& data,
                               JobObserver* observer, const Life& life) {
  Simulation simulation(options, data, life);
  MOTLEY_RETURN_IF_ERROR(simulation.Prepare(observer));
  return simulation.Run();
}

Result<SimResult> Simulate(const SimOptions& options, const Dataset& data, JobObserver* observer) {
  if (options.power_cuts.most == 0) return SimulateLife(options, data, observer, Life());
  return SimulateLives(options, data, observer);
}

}  // namespace motley
