// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/local_trainer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "training/optimizers/rate_schedule.h"

namespace motley {
namespace {

class LocalTrainer final : public Trainer {
 public:
  LocalTrainer(Loop& loop, Device& device, std::unique_ptr<Trainer> gradients,
               std::unique_ptr<Optimizer> optimizer, uint32_t batch, RateSchedule schedule,
               uint64_t rounds)
      : loop_(loop),
        device_(device),
        gradients_(std::move(gradients)),
        optimizer_(std::move(optimizer)),
        batch_(batch),
        schedule_(schedule),
        rounds_(rounds),
        gradient_(VectorLength(gradients_->parameter_count())) {}

  size_t parameter_count() const override { return gradients_->parameter_count(); }
  bool cuts_work() const override { return true; }  // A round is one call.
  uint64_t Samples(StepId step, std::span<const PartitionTerm> terms) const override {
    return gradients_->Samples(step, terms);
  }
  void Calibrate(std::shared_ptr<const std::atomic<bool>> cancel,
                 std::function<void(Result<double>)> done) override {
    gradients_->Calibrate(std::move(cancel), std::move(done));
  }
  void Hold(PartitionId partition, std::function<void(Status)> failed) override {
    gradients_->Hold(partition, std::move(failed));
  }

  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    auto round = std::make_shared<Round>();
    round->turns = LocalStepCount(Samples(work.step, work.terms), batch_);
    round->work = std::move(work);
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    round->cancel = std::move(cancel);
    round->done = std::move(done);
    round->begin = loop_.Now();
    local_.assign(round->work.parameters.begin(), round->work.parameters.end());
    before_.steps = optimizer_->steps();
    before_.state.assign(optimizer_->state().begin(), optimizer_->state().end());
    TakeStep(std::move(round));
  }

 private:
  // What is under way keeps it alive, and with its `done` this trainer.
  struct Round {
    GradientWork work;
    std::shared_ptr<std::atomic<bool>> cancel;
    Done done;
    uint32_t turn = 0, turns = 1;
    Time begin{};
    Outcome total;
  };
  using Shared = std::shared_ptr<Round>;

  void TakeStep(Shared round) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    GradientWork step;
    step.step = TurnOf(round->work.step, round->turn, round->turns);
    step.version = ++version_;  // Each step has parameters of its own.
    step.parameters = local_;
    step.terms = round->work.terms;
    step.sum = gradient_;
    step.progress = [round](uint64_t samples) { Report(*round, samples); };
    gradients_->Accumulate(
        std::move(step), round->cancel, [this, round](const Result<Outcome>& gradient) {
          gradient.ok() ? Update(round, *gradient) : Fail(*round, gradient.status());
        });
  }

  void Update(Shared round, const Outcome& gradient) {
    if (*round->cancel) return Fail(*round, Status::Cancelled("the round is not needed any more"));
    round->total.samples += gradient.samples;
    round->total.tally.Add(1, gradient.tally);
    const double factor = schedule_.Factor(round->work.step, rounds_) *
                          schedule_.BatchFactor(static_cast<double>(gradient.samples));
    Contribution from{.weight = gradient.tally.weight.real(), .rate_factor = factor};
    const bool last = ++round->turn == round->turns;
    auto update = [this, round, from, last] {
      MOTLEY_RETURN_IF_ERROR(
          optimizer_->Apply(device_, std::span(gradient_).first(parameter_count()), local_, from));
      if (last) AddAnswer(*round);
      return Status::Ok();
    };
    device_.Submit(0, std::move(update), [this, round, last](const Status& updated) {
      if (!updated.ok()) return Fail(*round, updated);
      Report(*round, 0);
      if (!last) return TakeStep(round);
      round->total.compute = loop_.Now() - round->begin;
      round->done(round->total);
    });
  }

  // On the device's thread. The difference is taken first, while its terms are of one size.
  void AddAnswer(const Round& round) {
    const motley_kernels& kernels = device_.kernels();
    const auto weight = static_cast<float>(round.total.tally.weight.real());
    kernels.scale(device_.queue(), local_.size(), -1, local_.data());
    kernels.axpy(device_.queue(), local_.size(), 1, round.work.parameters.data(), local_.data());
    kernels.axpy(device_.queue(), local_.size(), weight, local_.data(), round.work.sum.data());
  }

  static void Report(const Round& round, uint64_t in_step) {
    if (round.work.progress) round.work.progress(round.total.samples + in_step);
  }

  void Fail(Round& round, const Status& why) {
    const Status restored = optimizer_->Restore(before_.steps, before_.state);
    MOTLEY_ASSERT(restored.ok());
    round.done(why);
  }

  Loop& loop_;
  Device& device_;
  std::unique_ptr<Trainer> gradients_;
  std::unique_ptr<Optimizer> optimizer_;
  const uint32_t batch_;
  const RateSchedule schedule_;
  const uint64_t rounds_;
  // The round under way has these: the parameters, the gradient of a step, and the optimizer's
  // state before the first one.
  std::vector<float> local_;
  std::vector<float> gradient_;
  struct {
    uint64_t steps = 0;
    std::vector<float> state;
  } before_;
  uint64_t version_ = 0;
};

}  // namespace

uint32_t LocalStepCount(uint64_t samples, uint32_t batch) {
  const uint64_t steps = (samples + batch / 2) / batch;
  return static_cast<uint32_t>(std::clamp<uint64_t>(steps, 1, kMostTurns));
}

Result<std::unique_ptr<Trainer>> MakeLocalTrainer(Loop& loop, Device& device,
                                                  std::unique_ptr<Trainer> gradients,
                                                  const LocalSteps& how, uint64_t rounds) {
  MOTLEY_ASSERT(how.batch > 0);
  MOTLEY_ASSIGN_OR_RETURN(auto optimizer,
                          Optimizer::Create(how.optimizer, gradients->parameter_count()));
  MOTLEY_ASSIGN_OR_RETURN(const RateSchedule schedule, ParseSchedule(how.optimizer.schedule));
  return std::unique_ptr<Trainer>(std::make_unique<LocalTrainer>(
      loop, device, std::move(gradients), std::move(optimizer), how.batch, schedule, rounds));
}

}  // namespace motley
