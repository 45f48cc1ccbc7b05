// SPDX-License-Identifier: Apache-2.0
// Evaluates versions of the parameters on samples that do not train, while the steps go on, and
// judges by that whether training still gets anywhere. Without such samples it judges by the mean
// loss of the steps themselves.
//
// Versions v, 2 v, 3 v, ... are evaluated (v: ValidationOptions::every). What follows from an
// evaluation, a lower rate or the end, takes effect v steps later, and these steps wait for it if
// need be: so a job's course is a function of its losses, not of how fast anything was.
// Loop thread only; what the device works on is shared with its work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/job.h"
#include "runtime/shard/publisher.h"
#include "training/models/model.h"
#include "training/optimizers/loss_judge.h"

namespace motley {

class Validator {
 public:
  struct Hooks {
    std::function<void(const JudgedVersion&)> judged;
    std::function<void(const Status&)> failed;  // An evaluation could not be done.
    std::function<void()> idle;                 // busy() may have become false.
  };

  // kInvalidArgument: a schedule that is none, or validation samples of a trainer's job.
  // Evaluations run on `device`, borrowed. Goes on from options.resume.
  static Result<std::unique_ptr<Validator>> Create(Loop& loop, Device& device,
                                                   const JobOptions& options);
  void SetHooks(Hooks hooks) { hooks_ = std::move(hooks); }

  // By what the update of step `step` has to multiply the learning rate.
  double RateFactor(StepId step) const;
  // A step's batch had this mean loss and weight, before its update.
  void OnLoss(double loss, double weight);
  // Version `version` is the newest. `proceed` runs now, or once an evaluation that is due is done;
  // it is told whether to stop.
  void OnVersion(uint64_t version, const ParameterCopy& parameters,
                 std::function<void(bool stop)> proceed);

  // For checkpoints: `then` runs with the state up to version `version`, the newest, now or once
  // its evaluation is done.
  void WhenSettled(std::function<void(const ValidationState&)> then);
  // At the end of a job, before its last checkpoint: evaluates `version`, the last, unless that was
  // done or nothing depends on it. It may be the best. It does not count for patience: a
  // job of more steps that goes on from there judges when this one would have. True once there is
  // nothing to wait for; `idle` tells when to ask again.
  bool Finish(uint64_t version, const ParameterCopy& parameters);
  bool busy() const { return evaluating_; }

  // A step waits for an evaluation.
  bool holding() const { return held_ != nullptr; }

  // What the job leaves: the best version where versions are compared on validation samples, else
  // null: the last one.
  const ParameterCopy& best() const { return best_; }
  uint64_t best_version() const { return judge_.state().best_version; }
  ValidationSummary Summary() const;

 private:
  struct Work {  // What an evaluation reads.
    std::unique_ptr<Model> model;
    std::shared_ptr<const DataSource> samples;
  };

  Validator(Loop& loop, Device& device, const JobOptions& options, const RateSchedule& schedule,
            std::shared_ptr<Work> work);
  void Begin(uint64_t version, const ParameterCopy& parameters);
  void OnEvaluated(uint64_t version, const ParameterCopy& parameters, const Status& status,
                   const Evaluation& found);
  bool Judge(uint64_t version);
  double TakeTrainingLoss();

  Loop& loop_;
  Device& device_;
  const uint64_t steps_;
  const uint64_t every_;  // 0: nothing is judged.
  const bool stops_;
  const RateSchedule schedule_;
  const std::shared_ptr<Work> work_;  // Null: the steps' own losses are judged.
  LossJudge judge_;
  Hooks hooks_;
  double loss_sum_ = 0, weight_sum_ = 0;  // Of the steps since the last judgement.
  bool evaluating_ = false;
  bool ending_ = false;       // Finish has begun an evaluation.
  double training_loss_ = 0;  // Of the steps before the version that is being evaluated.
  uint64_t last_evaluated_ = 0;
  ParameterCopy best_;
  std::function<void()> held_;  // A step that waits.
  Time held_since_{};
  Duration waited_{};
  uint64_t evaluations_ = 0;
  std::vector<std::function<void(const ValidationState&)>> settled_;
  Alive alive_;
};

}  // namespace motley
