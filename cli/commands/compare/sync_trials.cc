// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/compare/sync_trials.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "api/reports/event_stream.h"
#include "base/time.h"
#include "cli/commands/simulation.h"
#include "cli/terminal/progress.h"
#include "fmt/core.h"
#include "training/models/model.h"
#include "training/optimizers/optimizer.h"

namespace motley {
namespace {

// Notes when each version was there, and how good the evaluated ones are.
class CurveRecorder final : public JobObserver {
 public:
  explicit CurveRecorder(JobObserver& next) : next_(next) {}

  void OnEvent(const JobEvent& event) override {
    Handle(event, [this](const auto& each) -> decltype(On(each)) { return On(each); });
    next_.OnEvent(event);
  }
  LearningCurve Take() { return std::move(curve_); }
  TrainingWork work() const { return {seconds_.empty() ? 0 : seconds_.back(), samples_}; }

 private:
  // An update that is taken back begins again, and its second sum may be exact.
  void On(const event::StepOpened& opened) {
    if (opened.step == approximated_) part_ = 1;
  }
  // An approximate sum is scaled, and its weight with it, to stand for the whole batch. Partitions
  // are of one size, so their coverage says what part of the batch counts (EffectiveSamples).
  void On(const event::StepApproximated& ended) {
    double sum = 0, squares = 0;
    for (const double alpha : ended.sum.coverage) {
      sum += alpha;
      squares += alpha * alpha;
    }
    const auto partitions = static_cast<double>(ended.sum.coverage.size());
    if (squares > 0) part_ = sum * sum / (squares * partitions);
    approximated_ = ended.step;
  }
  void On(const event::StepApplied& applied) {
    samples_ += applied.weight * std::exchange(part_, 1);
    seconds_.push_back(ToSeconds(applied.now));
  }
  void On(const event::VersionJudged& happened) {
    const JudgedVersion& judged = happened.judged;
    if (!judged.samples || judged.version == 0 || judged.version > seconds_.size()) return;
    curve_.push_back(
        {seconds_[judged.version - 1], judged.samples->loss, judged.samples->accuracy});
  }

  JobObserver& next_;
  double part_ = 1;  // The part of the last decoded step's batch that counts.
  StepId approximated_ = 0;
  double samples_ = 0;
  std::vector<double> seconds_;  // By version, from version 1 on.
  LearningCurve curve_;
};

std::string ClusterName(const Simulation& sim, const std::string& file) {
  if (!sim.options.cluster.name.empty()) return sim.options.cluster.name;
  return std::filesystem::path(file).stem().string();
}

// A diverged job is a result: its last evaluation has an infinite loss.
CurvePoint Diverged(const SimResult& result, bool classes) {
  CurvePoint point{result.virtual_seconds, std::numeric_limits<double>::infinity(), {}};
  if (classes) point.accuracy = 0;
  return point;
}

class Trials {
 public:
  explicit Trials(const TrialsRequest& request) : request_(request) {
    ProgressOptions shown;
    shown.style = ChooseProgressStyle(request.flags.job.quiet);
    shown.quiet_seconds = 1;
    shown.notices = false;
    progress_.emplace(shown);
  }

  // Checks all trials before it runs the first one.
  Result<std::vector<SyncTrial>> Run() {
    std::vector<SyncTrial> trials;
    Dataset data = request_.train;
    MOTLEY_RETURN_IF_ERROR(ForEach([&](const Choice& choice) { return Check(choice, data); }));
    MOTLEY_RETURN_IF_ERROR(ForEach([&](const Choice& choice) {
      auto trial = RunOne(choice);
      if (!trial.ok()) return trial.status().WithContext("--sync " + choice.mode);
      trials.push_back(*std::move(trial));
      return Status::Ok();
    }));
    progress_->End();
    return trials;
  }

 private:
  struct Choice {
    const std::string& cluster;
    const std::string& mode;
    double rate;
  };

  template <typename Call>
  Status ForEach(Call call) const {
    for (const std::string& cluster : request_.clusters) {
      for (const std::string& mode : request_.modes) {
        for (const double rate : request_.rates) {
          MOTLEY_RETURN_IF_ERROR(call(Choice{cluster, mode, rate}));
        }
      }
    }
    return Status::Ok();
  }

  const std::string& StalenessOf(const std::string& mode) const {
    static const std::string none = JobFlags().staleness;
    const std::vector<std::string>& stale = request_.stale_modes;
    const bool has = std::find(stale.begin(), stale.end(), mode) != stale.end();
    return has ? request_.flags.job.staleness : none;
  }

  Result<Simulation> Prepare(const Choice& choice, Dataset data) const {
    SimulateFlags flags = request_.flags;
    flags.cluster = choice.cluster;
    flags.job.sync = choice.mode;
    flags.job.options.learning_rate = choice.rate;
    flags.job.staleness = StalenessOf(choice.mode);
    return PrepareTraining(flags, std::move(data));
  }

  // Borrows `data`, to copy them only once.
  Status Check(const Choice& choice, Dataset& data) {
    Result<Simulation> sim = Prepare(choice, std::move(data));
    if (!sim.ok()) return OrLeaveOut(choice, sim.status());
    data = std::move(sim->data);
    const JobOptions& job = sim->options.job;
    MOTLEY_RETURN_IF_ERROR(CheckName(ClusterName(*sim, choice.cluster), choice.cluster));
    all_steps_ += job.steps * request_.seeds;
    MOTLEY_RETURN_IF_ERROR(Model::Create(job.model).status());
    MOTLEY_RETURN_IF_ERROR(Optimizer::Create(job.optimizer, 0).status());
    if (job.local.batch > 0) {
      MOTLEY_RETURN_IF_ERROR(Optimizer::Create(job.local.optimizer, 0).status());
    }
    return Status::Ok();
  }

  // The result distinguishes clusters by their names.
  Status CheckName(const std::string& name, const std::string& file) {
    const auto [named, is_new] = files_.emplace(name, &file);
    if (is_new || named->second == &file) return Status::Ok();
    return Status::InvalidArgument(
        fmt::format("--cluster {} and --cluster {}: both are named {}. Leave one out, or write "
                    "another name into it",
                    *named->second, file, name));
  }

  // Adds to an error that only this mode has that the others can be compared without it.
  Status OrLeaveOut(const Choice& choice, const Status& status) const {
    const bool others =
        std::any_of(request_.modes.begin(), request_.modes.end(), [&](const std::string& mode) {
          const Choice other{choice.cluster, mode, choice.rate};
          return mode != choice.mode && Prepare(other, request_.train).ok();
        });
    if (!others) return status;
    return Status(status.code(),
                  fmt::format("{}; or leave {} out of `sync`", status.ToString(), choice.mode));
  }

  Result<SyncTrial> RunOne(const Choice& choice) {
    MOTLEY_ASSIGN_OR_RETURN(Simulation sim, Prepare(choice, request_.train));
    JobOptions& job = sim.options.job;
    const uint64_t quarter = std::max<uint64_t>(1, sim.plan.steps_per_epoch / 4);
    job.validation.samples = request_.test;
    job.validation.every = request_.evaluate_steps > 0 ? request_.evaluate_steps
                           : request_.evaluate_epochs > 0
                               ? request_.evaluate_epochs * sim.plan.steps_per_epoch
                               : quarter;
    // The last version is evaluated, too.
    job.validation.every = std::min(job.validation.every, job.steps);
    SyncTrial trial{.sync = choice.mode,
                    .cluster = ClusterName(sim, choice.cluster),
                    .workers = job.workers,
                    .rate = choice.rate};
    trial.staleness = StalenessOf(choice.mode);
    progress_->Expect(all_steps_, static_cast<double>(sim.plan.steps_per_epoch), job.workers);
    for (uint32_t i = 0; i < request_.seeds; ++i) {
      progress_->Restart(steps_done_);
      MOTLEY_RETURN_IF_ERROR(Learn(sim, sim.plan.job.seed + i, trial));
      steps_done_ += job.steps;
    }
    return trial;
  }

  Status Learn(Simulation& sim, uint64_t seed, SyncTrial& trial) {
    sim.options.seed = sim.options.job.seed = seed;
    EventStream events([this](const motley_event& event) { progress_->OnEvent(event); }, nullptr);
    CurveRecorder recorder(events);
    MOTLEY_ASSIGN_OR_RETURN(const SimResult result, Simulate(sim.options, sim.data, &recorder));
    const bool diverged = result.job.status.code() == StatusCode::kDataError;
    if (!diverged) MOTLEY_RETURN_IF_ERROR(CheckSimulated(sim.options, result));
    LearningCurve curve = recorder.Take();
    if (diverged || curve.empty()) {
      curve.push_back(Diverged(result, request_.train.classes > 0));
    }
    trial.seeds.push_back(std::move(curve));
    trial.work.push_back(recorder.work());
    return Status::Ok();
  }

  const TrialsRequest& request_;
  std::optional<Progress> progress_;
  // The file of each cluster's name, as in the request.
  std::map<std::string, const std::string*> files_;
  uint64_t all_steps_ = 0;   // Steps of all runs.
  uint64_t steps_done_ = 0;  // Steps of the runs so far.
};

}  // namespace

Result<std::vector<SyncTrial>> RunTrials(const TrialsRequest& request) {
  return Trials(request).Run();
}

}  // namespace motley
