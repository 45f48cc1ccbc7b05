// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/sim_lives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "checkpoint/checkpoint.h"
#include "runtime/observer_fan.h"
#include "runtime/saving/saved_job.h"
#include "sim/checkers/violations.h"
#include "sim/digest.h"

namespace motley {
namespace {

constexpr uint64_t kPowerDraws = 21;  // Its own stream of the simulation's draws.
constexpr uint64_t kBrokenDraws = 22;
constexpr uint64_t kBeyondDraws = 23;
constexpr uint64_t kAloneDraws = 24;
constexpr uint64_t kRun = 0x6d6f746c6579;
constexpr uint64_t kSeedStride = 0x9e3779b97f4a7c15;
constexpr uint64_t kMostOperations = 120;  // A small checkpoint takes fewer.
constexpr double kInsidePatience = 10;

// Records which checkpoints the job reported as safe, and its parameters at each step. Where
// workers hold the vector, also the optimizer's state at steps with a checkpoint.
class Witness final : public JobObserver {
 public:
  void OnEvent(const JobEvent& event) override {
    if (const auto* applied = std::get_if<event::StepApplied>(&event)) {
      seen_[applied->step + 1].insert(Of(applied->parameters));
      // A state that nobody saw may be any.
      if (applied->state.empty()) states_.erase(applied->step + 1);
      if (!applied->state.empty()) states_[applied->step + 1].insert(Of(applied->state));
    } else if (const auto* safe = std::get_if<event::CheckpointSafe>(&event)) {
      acknowledged_ = std::max(acknowledged_, safe->steps);
      ++checkpoints_;
    } else if (const auto* noticed = std::get_if<event::Noticed>(&event)) {
      failures_ += std::holds_alternative<notice::CheckpointFailed>(noticed->notice) ? 1 : 0;
      degraded_ += std::holds_alternative<notice::CheckpointDegraded>(noticed->notice) ? 1 : 0;
    }
  }

  bool Had(uint64_t step, std::span<const float> parameters) const {
    const auto found = seen_.find(step);
    return found != seen_.end() && found->second.contains(Of(parameters));
  }
  // False: the step had other states. The server does not report those of vectors that it holds.
  bool MayHaveHad(uint64_t step, std::span<const float> state) const {
    const auto found = states_.find(step);
    return found == states_.end() || found->second.contains(Of(state));
  }
  uint64_t acknowledged() const { return acknowledged_; }
  // The acknowledged checkpoint is lost, and the user resumes from an earlier one.
  void GoBackTo(uint64_t steps) { acknowledged_ = steps; }
  uint64_t checkpoints() const { return checkpoints_; }
  uint64_t failures() const { return failures_; }
  uint64_t degraded() const { return degraded_; }

 private:
  static uint64_t Of(std::span<const float> parameters) {
    Digest digest;
    digest.Mix(parameters);
    return digest.value();
  }

  std::map<uint64_t, std::set<uint64_t>> seen_, states_;
  uint64_t acknowledged_ = 0;
  uint64_t checkpoints_ = 0;
  uint64_t failures_ = 0;
  uint64_t degraded_ = 0;
};

class Lives {
 public:
  Lives(const SimOptions& options, const Dataset& data, JobObserver* observer)
      : options_(options),
        data_(data),
        random_(options.seed, Stream::kSimulation, kPowerDraws),
        broken_(options.seed, Stream::kSimulation, kBrokenDraws),
        beyond_(options.seed, Stream::kSimulation, kBeyondDraws),
        alone_(options.seed, Stream::kSimulation, kAloneDraws),
        store_(options.seed) {
    options_.job.checkpoint.run = kRun;
    fan_.Tell({&witness_, observer});
    for (uint32_t i = 0; i < options.power_cuts.damaged_nodes; ++i) {
      bad_nodes_.insert(
          random_.Below(options.job.checkpoint.code.data + options.job.checkpoint.code.parity));
    }
  }

  Result<SimResult> Run() {
    for (uint32_t cuts = 0;; ++cuts) {
      Life life{&store_, 0};
      if (cuts < options_.power_cuts.most) DrawEnd(life);
      options_.seed += kSeedStride;  // Each incarnation has other faults.
      MOTLEY_ASSIGN_OR_RETURN(SimResult one, SimulateLife(options_, data_, &fan_, life));
      const bool over = !one.power_cut;
      Add(std::move(one));
      if (over) return Total();
      Count("power cut");
      if (!store_.powered()) Count("power cut inside a checkpoint");
      store_.PowerOn();
      store_.faults.capacity.reset();
      store_.faults.unwritable = "";
      Resume();
    }
  }

 private:
  void DrawEnd(Life& life) {
    const PowerCuts& cuts = options_.power_cuts;
    if (cuts.server_alone > 0 && alone_.Chance(cuts.server_alone)) {
      life.power_off_seconds = alone_.Exponential(cuts.mean_seconds) + 1e-3;
      life.revive = [this] {
        Count("server died alone");
        GoOn();
        return options_.job.resume;
      };
      return;
    }
    const double seconds = random_.Exponential(cuts.mean_seconds);
    const uint64_t operation = random_.Below(kMostOperations);
    const bool inside = random_.Chance(cuts.inside_write);
    // Late enough that a write usually comes first.
    life.power_off_seconds = (inside ? kInsidePatience : 1) * seconds + 1e-3;
    if (inside) store_.faults.cut_power_after = operation;
    if (random_.Chance(cuts.full_disk)) store_.faults.capacity = store_.stored_bytes();
    if (broken_.Chance(cuts.broken_node)) {
      const CheckpointCode& code = options_.job.checkpoint.code;
      store_.faults.unwritable = fmt::format("node-{:02}", broken_.Below(code.data + code.parity));
    }
  }

  // The checkpoint from which the user would resume: normally the newest one that can be read.
  Result<SavedJob> Load(std::vector<std::string>& notes) {
    auto saved = LoadSavedJob(store_, {}, &notes);
    if (saved.ok() || witness_.acknowledged() == 0) return saved;
    // A newer checkpoint, which was never acknowledged, is lost. The user asks for the acknowledged
    // one.
    saved = LoadSavedJob(store_, witness_.acknowledged(), &notes);
    if (saved.ok()) Count("older checkpoint asked for");
    if (saved.ok() || !is_beyond_) return saved;
    // The acknowledged checkpoint is reported as lost. No other one replaces it silently, so the
    // user picks an earlier one.
    Count("acknowledged checkpoint lost, and said");
    const auto list = ListCheckpoints(store_);
    for (const CheckpointInfo& info : list.ok() ? *list : std::vector<CheckpointInfo>()) {
      if (info.step >= witness_.acknowledged()) continue;
      saved = LoadSavedJob(store_, info.step, &notes);
      if (saved.ok()) break;
    }
    witness_.GoBackTo(saved.ok() ? saved->step : 0);
    return saved;
  }

  void Resume() {
    DamageNodes();
    GoOn();
  }

  void GoOn() {
    std::vector<std::string> notes;
    auto saved = Load(notes);
    if (!saved.ok()) {
      options_.job.resume = nullptr;
      if (witness_.acknowledged() == 0) return;  // The job starts from the beginning.
      return Violate(
          fmt::format("I5: the checkpoint of step {} was acknowledged but cannot be read: {}",
                      witness_.acknowledged(), saved.status().ToString()));
    }
    const auto passed = [](const std::string& note) {
      return note.find("passed over") != std::string::npos;
    };
    if (std::any_of(notes.begin(), notes.end(), passed)) Count("checkpoint passed over");
    Count("resumed from a checkpoint");
    if (!bad_nodes_.empty()) Count("resumed with shards lost");
    if (saved->step < witness_.acknowledged()) {
      Violate(fmt::format("I5: resumed from step {}, although {} was acknowledged", saved->step,
                          witness_.acknowledged()));
    }
    Check(*saved);
    options_.job.resume = std::make_shared<const SavedJob>(std::move(saved).value());
  }

  void Check(const SavedJob& saved) {
    if (!witness_.Had(saved.step, *saved.parameters)) {
      Violate(fmt::format("I5: the saved parameters are none that step {} ever had", saved.step));
    }
    if (!witness_.MayHaveHad(saved.step, *saved.optimizer_state)) {
      Violate(
          fmt::format("I5: the saved optimizer's state is none that step {} ever had", saved.step));
    }
  }

  // Every power cut damages the same nodes; other nodes would soon exceed what the code survives. A
  // checkpoint that was written with missing shards survives fewer. Then either fewer nodes are
  // damaged, or the checkpoint may be lost, and Load must report that. (With k <= m no node that
  // holds a shard of it might be left to show the loss, so it is never exceeded.)
  std::set<uint64_t> NodesToDamage() {
    const auto list = ListCheckpoints(store_);
    const auto infos = list.ok() ? *list : std::vector<CheckpointInfo>();
    for (const CheckpointInfo& info : infos) {
      harmed_[info.step].insert(info.missing_shards.begin(), info.missing_shards.end());
    }
    const CheckpointCode& code = options_.job.checkpoint.code;
    std::set<uint64_t> lost = harmed_[witness_.acknowledged()];
    std::set<uint64_t> all = lost;
    all.insert(bad_nodes_.begin(), bad_nodes_.end());
    const bool may_go_beyond = code.data > code.parity;
    is_beyond_ = lost.size() > code.parity ||
                 (may_go_beyond && all.size() > code.parity && beyond_.Chance(0.5));
    std::set<uint64_t> chosen;
    for (const uint64_t node : bad_nodes_) {
      lost.insert(node);
      if (lost.size() > code.parity && !(is_beyond_ && may_go_beyond)) break;
      chosen.insert(node);
    }
    for (const CheckpointInfo& info : infos) {
      harmed_[info.step].insert(chosen.begin(), chosen.end());
    }
    return chosen;
  }

  void DamageNodes() {
    for (const uint64_t node : NodesToDamage()) {
      const std::string folder = fmt::format("node-{:02}", node);
      if (random_.Chance(0.5)) {
        store_.RemoveFolder(folder);
        continue;
      }
      for (const std::string& path : store_.Files()) {
        if (!path.starts_with(folder + "/")) continue;
        const auto size = store_.Size(path);
        if (!size.ok() || *size == 0) continue;
        const uint64_t bit = random_.Below(*size * 8);
        if (const Status flipped = store_.FlipBit(path, bit); !flipped.ok()) {
          Violate(flipped.ToString());
        }
      }
    }
  }

  void Violate(std::string what) {
    if (total_.violations.size() < Violations::kMostKept)
      total_.violations.push_back(std::move(what));
  }
  void Count(const std::string& state) { ++total_.reached[state]; }

  void Add(SimResult one) {
    digest_.Mix(one.digest);
    one.tasks_run += total_.tasks_run;
    one.virtual_seconds += total_.virtual_seconds;
    for (const auto& [state, times] : one.reached) total_.reached[state] += times;
    for (std::string& what : one.violations) Violate(std::move(what));
    one.violations = std::move(total_.violations);
    one.reached = std::move(total_.reached);
    total_ = std::move(one);
  }

  SimResult Total() {
    if (const auto newest = LoadSavedJob(store_); newest.ok()) Check(*newest);
    if (witness_.failures() > 0 && total_.job.status.ok()) {
      Count("checkpoint not written, training went on");
    }
    if (witness_.degraded() > 0) Count("checkpoint without all of its shards");
    if (total_.job.status.ok() && total_.job.checkpoint_step != total_.job.steps &&
        total_.job.checkpoint_failures == 0) {
      Violate(
          fmt::format("I5: the job ended at step {}, but its newest safe checkpoint is of step {}",
                      total_.job.steps, total_.job.checkpoint_step));
    }
    // A last version is saved even if one before was given up with its owner.
    if (total_.job.status.ok() && total_.job.checkpoint_status.code() == StatusCode::kUnavailable) {
      Violate("I5: the last checkpoint was not written: " +
              total_.job.checkpoint_status.ToString());
    }
    digest_.Mix(store_.operations());
    digest_.Mix(witness_.checkpoints());
    digest_.Mix(random_.Next64());
    total_.digest = digest_.value();
    return std::move(total_);
  }

  SimOptions options_;
  const Dataset& data_;
  Random random_;
  Random broken_;
  Random beyond_;
  Random alone_;
  SimStore store_;
  Witness witness_;
  ObserverFan fan_;
  std::set<uint64_t> bad_nodes_;
  // By step of a checkpoint: its nodes that lost or damaged something in any incarnation.
  std::map<uint64_t, std::set<uint64_t>> harmed_;
  bool is_beyond_ = false;  // The damage exceeds what the acknowledged checkpoint survives.
  Digest digest_;
  SimResult total_;
};

}  // namespace

Result<SimResult> SimulateLives(const SimOptions& options, const Dataset& data,
                                JobObserver* observer) {
  const CheckpointOptions& checkpoint = options.job.checkpoint;
  if (checkpoint.every == 0 || options.power_cuts.damaged_nodes > checkpoint.code.parity) {
    return Status::InvalidArgument(
        "power cuts need checkpoints, and damaged_nodes may not exceed the code's parity blocks");
  }
  return Lives(options, data, observer).Run();
}

}  // namespace motley
