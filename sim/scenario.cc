// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/random.h"
#include "coding/schemes.h"
#include "runtime/links/heartbeat.h"
#include "sim/draw_links.h"
#include "sim/draw_sync.h"
#include "sim/faults/come_and_go.h"
#include "sim/faults/liars.h"
#include "sim/faults/random_fault.h"
#include "sim/faults/recorded_times.h"
#include "sim/liveness_limit.h"
#include "sim/problems/long_data.h"
#include "sim/world/sim_process.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

// Each kind of draw has its own stream, so that a new kind leaves the rest of a scenario as it was.
constexpr uint64_t kScenarioDraws = 20, kTrainerDraws = 21;
constexpr uint64_t kCutDraws = 22, kReplayDraws = 23, kLeaseDraws = 30;
constexpr uint64_t kMessageDraws = 31, kPortDraws = 34, kShortDraws = 37, kApproximateDraws = 40;
constexpr uint64_t kAutoDraws = 39, kFewerDraws = 41, kLabelDraws = 60, kShardDraws = 61;
constexpr uint64_t kSharedDraws = 42, kKeptDraws = 43, kPictureDraws = 45;
constexpr uint64_t kStorageDraws = 46, kJoinDraws = 47, kStallDraws = 48, kNetworkDraws = 49;
constexpr uint64_t kOptimizerDraws = 51, kCodeDraws = 63, kServerDraws = 65, kGroupDraws = 68;

// The codes that seeds drew before the list of schemes had more. A code that comes after them in
// the list is drawn by its share of the seeds, and the others keep what they drew.
constexpr size_t kFirstCodes = 7;

bool Taken(const JobOptions& job) { return !SchemeNamed(job.code).plain_rows(); }

class Generator {
 public:
  Generator(uint64_t seed, const SyncForm* sync)
      : random_(seed, Stream::kSimulation, kScenarioDraws), sync_(sync) {
    scenario_.options.seed = seed;
    scenario_.options.job.seed = seed;
  }

  Scenario Make() {
    MakeCluster();
    ShareProcessors();
    MakeModelAndData();
    EnlargeLabels();
    BringTrainer();
    RoundSamples();
    MakeJob();
    LeaseInstead();
    SendSeveralInstead();
    ApproximateInstead();
    AnswerInPartsInstead("short", kShortDraws);
    AnswerInPartsInstead("partial-coded", kKeptDraws);
    ChooseInstead();
    CutIntoShards();
    CutIntoGroups();
    DrawLinks(scenario_.options);
    Random fewer(scenario_.options.seed, Stream::kSimulation, kFewerDraws);
    const auto most = static_cast<uint32_t>(1 + fewer.Below(8 * scenario_.options.job.workers));
    if (most <= scenario_.options.job.workers) scenario_.options.job.most_workers = most;
    DrawRandomFaults(random_, scenario_.options.seed, JobSeconds(),
                     scenario_.options.random_faults);
    MakeScript();
    if (sync_ == nullptr) MakePowerCuts();
    if (sync_ == nullptr) Replay();
    ShareThePort();
    JoinDevices();
    if (sync_ == nullptr) LengthenData(scenario_.options, scenario_.data, Usual());
    if (sync_ == nullptr) AddLiar(scenario_.options, Usual().seconds);
    // The job must not start without workers that are still held back when faults stop.
    scenario_.options.job.start_timeout =
        std::chrono::seconds(1) + FromSeconds(scenario_.options.random_faults.until_seconds);
    // Only scenarios that cut all links let a job wait after it lost all of its workers.
    scenario_.options.job.return_timeout = Duration::zero();
    FailNetwork();
    LetComeAndGo(scenario_.options, JobSeconds());
    DrawSync(scenario_.options, sync_);
    FollowBatches(scenario_.options);
    // A worker may measure its speed while its hung device does not count as lost yet.
    if (scenario_.options.random_faults.break_every > 0) {
      scenario_.options.job.start_timeout += kSimPatience.first;
    }
    const double limit = ToSeconds(LivenessLimit(scenario_.options, scenario_.data, kMostFloats));
    scenario_.options.max_virtual_seconds =
        scenario_.options.random_faults.until_seconds + 10 * limit;
    return std::move(scenario_);
  }

 private:
  static constexpr size_t kMostFloats = 512;

  // A fifth of the scenarios measures links. A tenth takes times from a recording with gaps.
  void Replay() {
    SimOptions& options = scenario_.options;
    random_ = Random(options.seed, Stream::kSimulation, kReplayDraws);
    options.job.measure_links = random_.Chance(0.2);
    if (!random_.Chance(0.1)) return;
    RunTrace trace;
    trace.steps = Between(1, 20);
    trace.workers = static_cast<uint32_t>(Between(1, options.job.workers));
    for (uint64_t i = 0; i < trace.steps * trace.workers; ++i) {
      const WorkerProfile& worker = options.cluster.workers[i % trace.workers];
      RunTrace::Cell cell;
      if (random_.Chance(0.9)) {
        cell.seconds_per_sample = Scaled(0.2, 5) / worker.device.samples_per_second;
      }
      const double rate = worker.link.bytes_per_second;
      if (rate > 0 && random_.Chance(0.5)) cell.bytes_per_second = rate * Scaled(1, 5);
      trace.cells.push_back(cell);
    }
    options.replay = std::make_shared<RunTimes>(std::move(trace));
    options.replay_from = random_.Below(100);
  }

  uint64_t Between(uint64_t least, uint64_t most) {
    return least + random_.Below(most - least + 1);
  }
  double Uniform(double least, double most) {
    const double u = random_.NextDouble();
    return least + (most - least) * u;
  }
  // Uniform on a logarithmic scale.
  double Scaled(double least, double most) { return least * std::pow(most / least, Uniform(0, 1)); }
  // A value in half of the scenarios, 0 in the others.
  double Sometimes(double least, double most) {
    const bool on = random_.Chance(0.5);
    const double value = Scaled(least, most);
    return on ? value : 0;
  }
  template <typename T>
  T OneOf(std::initializer_list<T> choices) {
    return *(choices.begin() + random_.Below(choices.size()));
  }

  void MakeCluster() {
    SimOptions& options = scenario_.options;
    const uint64_t workers = Between(1, 12);
    const double base = Scaled(200, 5000);
    const double spread = random_.Chance(0.3) ? 1 : Uniform(1, 20);
    const double jitter = Sometimes(0.01, 0.3);
    const double overhead = Sometimes(1e-5, 2e-3);
    const double latency = Sometimes(1e-5, 5e-3);
    const double bandwidth = Sometimes(1e6, 1e8);
    const size_t small_buffer = static_cast<size_t>(Scaled(64, 65536));
    if (random_.Chance(0.5)) options.socket_buffer_bytes = small_buffer;
    options.link_jitter_seconds = Sometimes(1e-5, 5e-3);
    options.job.workers = static_cast<uint32_t>(workers);
    for (uint64_t i = 0; i < workers; ++i) {
      WorkerProfile worker;
      worker.device.name = fmt::format("sim-{}", i);
      worker.device.samples_per_second = base * Scaled(1, spread + 1e-9);
      worker.device.jitter = jitter;
      worker.device.overhead_seconds = overhead;
      worker.link = {.latency_seconds = latency, .bytes_per_second = bandwidth};
      options.cluster.workers.push_back(worker);
    }
  }

  // In a tenth of the scenarios all workers are processes of one machine and slow each other.
  void ShareProcessors() {
    SimOptions& options = scenario_.options;
    Random random(options.seed, Stream::kSimulation, kSharedDraws);
    if (random.Chance(0.1)) options.shared_processors = static_cast<double>(1 + random.Below(4));
  }

  void MakeModelAndData() {
    JobOptions& job = scenario_.options.job;
    const uint64_t kind = random_.Below(4);
    const uint32_t features = static_cast<uint32_t>(Between(2, 20));
    uint32_t classes = static_cast<uint32_t>(Between(2, 6));
    if (kind == 0) job.model.name = "softmax";
    if (kind == 1) job.model.name = "logistic", classes = 2;
    if (kind == 2) job.model.name = "linear", classes = 0;
    if (kind == 3) job.model.name = fmt::format("mlp:{}", Between(2, 16));
    const uint32_t samples = static_cast<uint32_t>(Between(40, 400));
    scenario_.data = MakeSyntheticDataset(samples, features, classes, job.seed);
    if (random_.Chance(0.3)) Thin(scenario_.data);
    job.model.features = features;
    job.model.classes = classes;
    // Half of the perceptrons whose features form a square become convolutional networks.
    Random random(scenario_.options.seed, Stream::kSimulation, kPictureDraws);
    const bool square = features == 4 || features == 9 || features == 16;
    if (kind == 3 && square && random.Chance(0.5)) {
      job.model.name = fmt::format("cnn:{}", 1 + random.Below(3));
    }
  }

  // Half of the linear models predict prices: their losses are far larger than any gradient.
  void EnlargeLabels() {
    if (scenario_.options.job.model.name != "linear") return;
    Random random(scenario_.options.seed, Stream::kSimulation, kLabelDraws);
    large_labels_ = random.Chance(0.5);
    if (!large_labels_) return;
    for (float& label : scenario_.data.label) {
      label = static_cast<float>(2e5 + 1e4 * label + 3e4 * random.Normal());
    }
  }

  // In half of the linear model's scenarios the caller's trainer does the same least squares.
  void BringTrainer() {
    SimOptions& options = scenario_.options;
    if (options.job.model.name != "linear") return;
    Random random(options.seed, Stream::kSimulation, kTrainerDraws);
    if (!random.Chance(0.5)) return;
    options.trainer = random.Chance(0.5) ? SimTrainer::kSquares : SimTrainer::kSquaresOwnData;
  }

  // Stores samples in 16 bits in a quarter of the scenarios that send dense samples.
  void RoundSamples() {
    Random random(scenario_.options.seed, Stream::kSimulation, kStorageDraws);
    const bool sent = scenario_.options.trainer != SimTrainer::kSquaresOwnData;
    if (!random.Chance(0.25) || !sent || scenario_.data.sparse) return;
    const Storage storage = random.Chance(0.5) ? Storage::kFp16 : Storage::kBf16;
    MOTLEY_ASSERT(Narrow(scenario_.data, storage).ok());
  }

  // Keeps the larger values only, as a sparse matrix; some rows may become empty.
  static void Thin(Dataset& data) {
    constexpr float kSmall = 1;
    data.sparse = true;
    for (size_t row = 0; row < data.rows(); ++row) {
      for (uint32_t f = 0; f < data.features; ++f) {
        const float value = data.dense[row * data.features + f];
        if (std::abs(value) < kSmall) continue;
        data.column.push_back(f);
        data.value.push_back(value);
      }
      data.row_begin.push_back(data.value.size());
    }
    data.dense.clear();
  }

  void MakeJob() {
    JobOptions& job = scenario_.options.job;
    job.code = DrawCode();
    // A tenth of the scenarios may tolerate too much for the workers; the job must refuse that.
    const uint64_t most = random_.Chance(0.1) ? 3 : std::min(3u, job.workers - 1);
    job.tolerate = static_cast<uint32_t>(Between(0, most));
    job.shares = random_.Chance(0.5) ? Shares::kProportional : Shares::kEqual;
    job.batch = static_cast<uint32_t>(Between(4, std::min<size_t>(64, scenario_.data.rows())));
    job.steps = Between(10, 40);
    job.token = "simulated";
    job.slice_length = OneOf({1u << 18, 1u << 18, 64u, 16u, 2u});
    job.audit_fraction = OneOf({0.0, 0.02, 1.0});
    job.optimizer = UsualOptions(DrawOptimizer());
    const bool plain = OptimizerVectors(job.optimizer.name) == 0;
    job.optimizer.learning_rate = plain ? 0.05 : 0.005;
    job.optimizer.l2 = Sometimes(1e-4, 1e-2);
  }

  // A sixth of the scenarios cuts the vector into groups of parameters.
  void CutIntoGroups() {
    Random random(scenario_.options.seed, Stream::kSimulation, kGroupDraws);
    scenario_.options.grouped = random.Chance(1.0 / 6);
  }

  // The codes with plain rows are equally likely. Other schemes later replace some of them.
  std::string DrawCode() {
    std::vector<std::string> codes;
    for (const Scheme& scheme : Schemes()) {
      if (scheme.plain_rows()) codes.emplace_back(scheme.name);
    }
    std::string drawn = codes[random_.Below(kFirstCodes)];
    Random random(scenario_.options.seed, Stream::kSimulation, kCodeDraws);
    for (size_t later = kFirstCodes; later < codes.size(); ++later) {
      if (random.Below(later + 1) == 0) drawn = codes[later];
    }
    return drawn;
  }

  // The list may grow, so most scenarios draw from its first ones: else each would change with it.
  std::string DrawOptimizer() {
    const std::vector<std::string> names = OptimizerNames();
    const uint64_t drawn = random_.Below(4);
    Random random(scenario_.options.seed, Stream::kSimulation, kOptimizerDraws);
    return names[random.Chance(0.1) ? random.Below(names.size()) : drawn];
  }

  // A fifth of the scenarios uses leases.
  void LeaseInstead() {
    Random random(scenario_.options.seed, Stream::kSimulation, kLeaseDraws);
    if (random.Chance(0.2)) scenario_.options.job.code = "adaptive";
  }

  // An eighth of the scenarios without leases sends several messages per worker.
  void SendSeveralInstead() {
    JobOptions& job = scenario_.options.job;
    Random random(scenario_.options.seed, Stream::kSimulation, kMessageDraws);
    if (!Taken(job) && random.Chance(0.125)) job.code = "multi-message";
  }

  // 16 % of the others may end steps approximately. They learn slowly: small batches vary much.
  void ApproximateInstead() {
    JobOptions& job = scenario_.options.job;
    Random random(scenario_.options.seed, Stream::kSimulation, kApproximateDraws);
    if (!random.Chance(0.16) || Taken(job)) return;
    job.code = "approximate";
    job.optimizer.learning_rate /= 10;
    const double step = JobSeconds() / static_cast<double>(job.steps);
    const double deadline = step * std::pow(20.0, random.NextDouble() - 0.3);
    if (random.Chance(0.5)) job.step_deadline = FromSeconds(deadline);
    const auto quorum = static_cast<uint32_t>(1 + random.Below(job.workers));
    if (random.Chance(0.5)) job.quorum = quorum;
  }

  // An eighth of those that are left answers in parts.
  void AnswerInPartsInstead(const char* code, uint64_t draws) {
    JobOptions& job = scenario_.options.job;
    Random random(scenario_.options.seed, Stream::kSimulation, draws);
    if (Taken(job) || !random.Chance(0.125)) return;
    job.code = code;
    job.parts = static_cast<uint32_t>(1 + random.Below(3));
  }

  // A fifth lets the job choose its code. Half of these draw another code every few steps, so that
  // one policy takes over from another in every state of its workers.
  void ChooseInstead() {
    Random random(scenario_.options.seed, Stream::kSimulation, kAutoDraws);
    JobOptions& job = scenario_.options.job;
    const bool taken = !SchemeNamed(job.code).exact || SchemeNamed(job.code).has_parts;
    if (!random.Chance(0.2) || taken) return;
    job.code = "auto";
    if (random.Chance(0.5)) job.tolerate = 0;
    if (random.Chance(0.5)) job.draw_codes_every = static_cast<uint32_t>(1 + random.Below(6));
    // Half of the others get enough steps for trials of codes. (A linear model with small labels
    // does not: its gradients would be little but rounding by then.)
    const bool lasting = job.model.name != "linear" || large_labels_;
    const bool longer = random.Chance(0.5) && lasting;
    if (job.draw_codes_every == 0 && longer) job.steps += 60 + random.Below(100);
  }

  // 30 % cut the vector into two to four shards. Workers hold half of these, with one or two
  // followers (or what DrawLinks draws).
  void CutIntoShards() {
    Random random(scenario_.options.seed, Stream::kSimulation, kShardDraws);
    JobOptions& job = scenario_.options.job;
    if (!random.Chance(0.3)) return;
    job.shards = 2 + random.Below(3);
    if (!random.Chance(0.5)) return;
    job.holders = JobOptions::Holders::kWorkers;
    job.followers = 1 + random.Below(2);
    job.read_every_version = true;
    AddShardServers();
  }

  // Up to two servers join two thirds of these jobs, and own the vector in half of those. Some die
  // or stand still.
  void AddShardServers() {
    JobOptions& job = scenario_.options.job;
    Random random(scenario_.options.seed, Stream::kSimulation, kServerDraws);
    job.shard_servers = static_cast<uint32_t>(random.Below(3));
    if (job.shard_servers == 0) return;
    if (random.Chance(0.5)) job.holders = JobOptions::Holders::kShardServers;
    const double every = JobSeconds() * std::pow(10.0, random.NextDouble() - 1);
    if (random.Chance(0.6)) scenario_.options.random_faults.kill_server_every = every;
  }

  // Roughly how long the job takes without faults.
  double JobSeconds() const {
    return static_cast<double>(scenario_.options.job.steps) * Usual().seconds;
  }

  UsualStep Usual() const {
    const SimOptions& options = scenario_.options;
    double speed = 0;
    double wait = 0;
    for (const WorkerProfile& worker : options.cluster.workers) {
      speed += worker.device.samples_per_second;
      wait = std::max(wait, worker.device.overhead_seconds + 4 * worker.link.latency_seconds);
    }
    const JobOptions& job = options.job;
    // Leases compute nothing twice, but may wait as long as copies would take.
    const uint32_t copies =
        std::max(SchemeNamed(job.code).Computed(job.tolerate, job.parts), job.tolerate + 1);
    double step = job.batch * copies / speed + wait;
    if (options.shared_processors > 0) step *= 1 + job.workers / options.shared_processors;
    return {step, copies};
  }

  void MakeScript() {
    if (random_.Chance(0.6)) return;
    const SimOptions& options = scenario_.options;
    // The server expels a worker after three answers that are not finite.
    const bool banish = random_.Chance(0.3);
    const WorkerId victim = static_cast<WorkerId>(random_.Below(options.job.workers));
    std::set<StepId> spoilt;
    const uint64_t count = banish ? 4 : Between(1, 3);
    for (uint64_t i = 0; i < count; ++i) {
      Fault fault;
      fault.worker = static_cast<WorkerId>(random_.Below(options.job.workers));
      fault.step = random_.Below(options.job.steps);
      fault.kind =
          OneOf({Fault::Kind::kKill, Fault::Kind::kPause, Fault::Kind::kSlow, Fault::Kind::kNan});
      fault.duration = FromSeconds(Scaled(0.01, 2));
      fault.factor = Uniform(1.5, 6);
      if (banish) {
        fault.worker = victim;
        fault.step = i + 1;
        fault.kind = Fault::Kind::kNan;
      }
      // Two workers that spoil one step look like a training that diverges.
      if (fault.kind == Fault::Kind::kNan && !spoilt.insert(fault.step).second) continue;
      scenario_.options.faults.push_back(fault);
    }
  }

  // A quarter of the scenarios has power cuts, and half of those whose workers may hold the vector.
  void MakePowerCuts() {
    random_ = Random(scenario_.options.seed, Stream::kSimulation, kCutDraws);
    const bool here = scenario_.options.job.holders == JobOptions::Holders::kServer;
    if (!random_.Chance(here ? 0.25 : 0.5)) return;
    CheckpointOptions& checkpoint = scenario_.options.job.checkpoint;
    PowerCuts& cuts = scenario_.options.power_cuts;
    checkpoint.every = Between(1, 8);
    checkpoint.code.data = static_cast<uint32_t>(Between(1, 4));
    checkpoint.code.parity = static_cast<uint32_t>(Between(0, 2));
    checkpoint.code.technique = OneOf({ErasureTechnique::kVandermonde, ErasureTechnique::kCauchy});
    cuts.most = static_cast<uint32_t>(Between(1, 5));
    cuts.mean_seconds = Scaled(0.1, 1) * JobSeconds() + 0.05;
    cuts.inside_write = OneOf({0.0, 0.5, 1.0});
    cuts.full_disk = Sometimes(0.1, 0.5);
    cuts.broken_node = cuts.full_disk;
    cuts.damaged_nodes = static_cast<uint32_t>(Between(0, checkpoint.code.parity));
  }

  // In a quarter of the scenarios all workers share the server's link. It may be thin already.
  void ShareThePort() {
    random_ = Random(scenario_.options.seed, Stream::kSimulation, kPortDraws);
    if (!random_.Chance(0.25) || scenario_.options.server_bytes_per_second > 0) return;
    scenario_.options.server_bytes_per_second = Scaled(1e6, 1e8);
  }

  // In 15 % of the scenarios connections break, one or all, and strangers come.
  void FailNetwork() {
    SimOptions& options = scenario_.options;
    random_ = Random(options.seed, Stream::kSimulation, kNetworkDraws);
    if (!random_.Chance(0.15) || options.data_bytes > 0) return;
    options.power_cuts.server_alone = 0.6;
    options.heartbeat = true;
    options.job.return_timeout = std::chrono::minutes(2);
    // The server needs kLostAfter to notice that a connection was cut silently.
    options.job.start_timeout += kLostAfter;
    RandomFaults& faults = options.random_faults;
    const double job = JobSeconds();
    faults.cut_every = Sometimes(0.1 * job, job);
    faults.blackout_every = Sometimes(0.2 * job, 2 * job);
    if (random_.Chance(0.5)) faults.stranger_every = Scaled(0.01, 1);
  }

  // In a sixth of the scenarios some workers compute on two devices. One of the two may break.
  void JoinDevices() {
    SimOptions& options = scenario_.options;
    random_ = Random(options.seed, Stream::kSimulation, kJoinDraws);
    if (options.trainer != SimTrainer::kBuiltIn || options.replay || !random_.Chance(0.17)) return;
    for (uint32_t worker = 0; worker < options.job.workers; ++worker) {
      options.second_devices.push_back(random_.Chance(0.7) ? Uniform(0.1, 0.9) : 0);
    }
    RandomFaults& faults = options.random_faults;
    const double every = Sometimes(0.1, 1) * JobSeconds();
    if (faults.break_every == 0) faults.break_every = every;
    Random stalls(options.seed, Stream::kSimulation, kStallDraws);
    if (stalls.Chance(0.5)) faults.stall_every = (stalls.NextDouble() + 0.05) * JobSeconds();
  }

  Random random_;
  const SyncForm* sync_;  // Null: the mode is drawn.
  Scenario scenario_;
  bool large_labels_ = false;
};

}  // namespace

Scenario MakeScenario(uint64_t seed, const SyncForm* sync) { return Generator(seed, sync).Make(); }

}  // namespace motley
