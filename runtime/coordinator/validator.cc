// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/validator.h"

#include <utility>

#include "runtime/memory_need.h"
#include "runtime/saving/saved_job.h"

namespace motley {
namespace {

JudgeOptions JudgeBy(const ValidationOptions& options) {
  return {.patience = options.patience, .tolerance = options.tolerance};
}

const ValidationState& Before(const JobOptions& options) {
  static const ValidationState kNothing;
  return options.resume != nullptr ? options.resume->about.validation : kNothing;
}

}  // namespace

Result<std::unique_ptr<Validator>> Validator::Create(Loop& loop, Device& device,
                                                     const JobOptions& options) {
  MOTLEY_ASSIGN_OR_RETURN(const RateSchedule schedule, ParseSchedule(options.optimizer.schedule));
  std::shared_ptr<Work> work;
  if (options.validation.samples != nullptr) {
    if (options.foreign != nullptr) {
      return Status::InvalidArgument("a trainer's model cannot be evaluated on validation samples");
    }
    work = std::make_shared<Work>();
    MOTLEY_ASSIGN_OR_RETURN(work->model, Model::Create(options.model));
    work->samples = options.validation.samples;
  } else if (options.validation.by_trainer) {
    work = std::make_shared<Work>();
    work->trainer = options.foreign;
  }
  return std::unique_ptr<Validator>(
      new Validator(loop, device, options, schedule, std::move(work)));
}

Status Validator::Work::Do(Device& device, uint64_t version, const ParameterCopy& parameters,
                           Evaluation& found) const {
  if (trainer == nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(found, Evaluate(*model, device, *parameters, *samples));
    return Status::Ok();
  }
  MOTLEY_RETURN_IF_ERROR(trainer->evaluate(version, *parameters, found.loss));
  found.weighted_loss = found.loss;
  return Status::Ok();
}

Validator::Validator(Loop& loop, Device& device, const JobOptions& options,
                     const RateSchedule& schedule, std::shared_ptr<Work> work)
    : loop_(loop),
      device_(device),
      steps_(options.steps),
      every_(options.validation.every),
      stops_(options.validation.patience > 0),
      schedule_(schedule),
      work_(std::move(work)),
      judge_(JudgeBy(options.validation), schedule, Before(options).judge),
      loss_sum_(Before(options).loss_sum),
      weight_sum_(Before(options).weight_sum) {
  if (options.resume != nullptr) {
    last_evaluated_ = options.resume->step;
    if (stops_ && work_ != nullptr) best_ = options.resume->best;
  }
}

double Validator::RateFactor(StepId step, double samples) const {
  return schedule_.Factor(step, steps_) * judge_.rate_factor() * schedule_.BatchFactor(samples);
}

void Validator::OnLoss(double loss, double weight) {
  loss_sum_ += loss * weight;
  weight_sum_ += weight;
}

double Validator::TakeTrainingLoss() {
  const double weight = std::exchange(weight_sum_, 0);
  const double sum = std::exchange(loss_sum_, 0);
  return weight > 0 ? sum / weight : 0;
}

void Validator::OnVersion(uint64_t version, const ParameterCopy& parameters,
                          std::function<void(bool stop)> proceed) {
  if (every_ == 0 || version % every_ != 0) return proceed(false);
  if (work_ == nullptr) {
    // Samples that weigh nothing have no mean loss, and a loss of 0 would be the best possible.
    if (weight_sum_ == 0) return proceed(false);
    const double loss = TakeTrainingLoss();
    const bool best = judge_.Hear(version, loss);
    hooks_.judged({version, loss, {}, best});
    return proceed(judge_.Conclude());
  }
  auto go = [this, version, parameters, proceed = std::move(proceed)] {
    const bool stop = judge_.Conclude();
    if (!stop) Begin(version, parameters);
    proceed(stop);
  };
  if (!evaluating_) return go();
  held_ = std::move(go);
  held_since_ = loop_.Now();
}

void Validator::Begin(uint64_t version, const ParameterCopy& parameters) {
  training_loss_ = TakeTrainingLoss();
  const auto found = std::make_shared<Evaluation>();
  auto work = [&device = device_, work = work_, version, parameters, found] {
    return OrNoMemory("an evaluation",
                      [&]() -> Status { return work->Do(device, version, parameters, *found); });
  };
  device_.Submit(work_->units(), std::move(work),
                 alive_.Guard([this, version, parameters, found](const Status& status) {
                   OnEvaluated(version, parameters, status, *found);
                 }));
  evaluating_ = true;
}

void Validator::OnEvaluated(uint64_t version, const ParameterCopy& parameters, const Status& status,
                            const Evaluation& found) {
  evaluating_ = false;
  last_evaluated_ = version;
  if (!status.ok()) {
    hooks_.failed(status.WithContext(work_->trainer != nullptr
                                         ? "the trainer's evaluation"
                                         : "the evaluation on the validation samples"));
  } else {
    ++evaluations_;
    const bool best = ending_ ? judge_.Compare(version, found.weighted_loss)
                              : judge_.Hear(version, found.weighted_loss);
    if (best && stops_) best_ = parameters;
    hooks_.judged({version, training_loss_, found, best});
  }
  const ValidationState state{judge_.state(), loss_sum_, weight_sum_, best_};
  for (const auto& then : std::exchange(settled_, {})) then(state);
  if (held_) {
    waited_ += loop_.Now() - held_since_;
    std::exchange(held_, nullptr)();
  }
  hooks_.idle();
}

void Validator::WhenSettled(std::function<void(const ValidationState&)> then) {
  if (!evaluating_) return then({judge_.state(), loss_sum_, weight_sum_, best_});
  // Losses of later steps do not belong to that version.
  settled_.push_back(
      [then = std::move(then), loss = loss_sum_, weight = weight_sum_](ValidationState state) {
        state.loss_sum = loss;
        state.weight_sum = weight;
        then(state);
      });
}

bool Validator::Finish(uint64_t version, const ParameterCopy& parameters) {
  if (evaluating_) return false;
  if (work_ == nullptr || !stops_ || last_evaluated_ == version) return true;
  ending_ = true;
  const double loss = loss_sum_, weight = weight_sum_;
  Begin(version, parameters);
  loss_sum_ = loss;  // A job that resumes from here counts the losses in its next judgement.
  weight_sum_ = weight;
  return false;
}

ValidationSummary Validator::Summary() const {
  return {.evaluations = evaluations_,
          .waited_seconds = ToSeconds(waited_),
          .best_version = judge_.state().best_version,
          .best_loss = judge_.state().best,
          .kept_best = best_ != nullptr};
}

}  // namespace motley
