// SPDX-License-Identifier: Apache-2.0
// Evaluates versions of the parameters on validation samples while the steps go on, and decides
// from the losses if training still improves. Without such samples it uses the mean loss of the
// steps themselves.
//
// It evaluates versions v, 2 v, 3 v, ... (v is ValidationOptions::every). The result of an
// evaluation, a lower rate or the end, takes effect v steps later, and these steps wait for it if
// necessary. So the course of a job depends on its losses, and not on the speed of anything.
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
#include "training/trainers/callback_trainer.h"

namespace motley {

class Validator {
 public:
  struct Hooks {
    std::function<void(const JudgedVersion&)> judged;
    std::function<void(const Status&)> failed;  // An evaluation could not be done.
    std::function<void()> idle;                 // busy() may have become false.
  };

  // kInvalidArgument: an invalid schedule, or validation samples in a job with a trainer, which may
  // evaluate versions itself instead.
  // Evaluations run on `device`, borrowed. The validator goes on from options.resume.
  static Result<std::unique_ptr<Validator>> Create(Loop& loop, Device& device,
                                                   const JobOptions& options);
  void SetHooks(Hooks hooks) { hooks_ = std::move(hooks); }

  // The factor of the learning rate in the update of step `step`, which stands for so many samples
  // (EffectiveSamples).
  double RateFactor(StepId step, double samples) const;
  // The mean loss and weight of a step's batch, before its update.
  void OnLoss(double loss, double weight);
  // Version `version` is the newest. `proceed` runs now, or once an evaluation that is due is done.
  // Its argument says if the job must stop.
  void OnVersion(uint64_t version, const ParameterCopy& parameters,
                 std::function<void(bool stop)> proceed);

  // For checkpoints: `then` runs with the state up to version `version`, the newest. It runs now,
  // or once the evaluation of that version is done.
  void WhenSettled(std::function<void(const ValidationState&)> then);
  // At the end of a job, before its last checkpoint: evaluates `version`, the last, because it may
  // be the best. It skips this if it was done or nothing depends on it. The evaluation does not
  // count for `patience`, so a longer job that resumes from there judges as this one would have.
  // Returns true once there is nothing to wait for; `idle` says when to ask again.
  bool Finish(uint64_t version, const ParameterCopy& parameters);
  bool busy() const { return evaluating_; }

  // A step waits for an evaluation.
  bool holding() const { return held_ != nullptr; }

  // The version that the job leaves: the best one on validation samples, or null for the last one
  // if versions are not compared.
  const ParameterCopy& best() const { return best_; }
  uint64_t best_version() const { return judge_.state().best_version; }
  ValidationSummary Summary() const;

 private:
  struct Work {                                     // The inputs of an evaluation.
    std::shared_ptr<const ForeignTrainer> trainer;  // Null: `model` on `samples`.
    std::unique_ptr<Model> model;
    std::shared_ptr<const DataSource> samples;

    Status Do(Device& device, uint64_t version, const ParameterCopy& parameters,
              Evaluation& found) const;
    double units() const {
      return samples != nullptr ? static_cast<double>(samples->shape().rows) : 0;
    }
  };

  Validator(Loop& loop, Device& device, const JobOptions& options, const RateSchedule& schedule,
            std::shared_ptr<Work> work);
  void Begin(uint64_t version, const ParameterCopy& parameters);
  void OnEvaluated(uint64_t version, const ParameterCopy& parameters, const Status& status,
                   const Evaluation& found);
  double TakeTrainingLoss();

  Loop& loop_;
  Device& device_;
  const uint64_t steps_;
  const uint64_t every_;  // 0: nothing is judged.
  const bool stops_;
  const RateSchedule schedule_;
  const std::shared_ptr<Work> work_;  // Null if the steps' own losses are judged.
  LossJudge judge_;
  Hooks hooks_;
  double loss_sum_ = 0, weight_sum_ = 0;  // Sums over the steps since the last judgement.
  bool evaluating_ = false;
  bool ending_ = false;       // Finish has begun an evaluation.
  double training_loss_ = 0;  // Training loss before the version that is being evaluated.
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
