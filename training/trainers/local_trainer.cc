// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/local_trainer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "training/optimizers/rate_schedule.h"

namespace motley {
namespace {

class LocalTrainer final : public Trainer {
 public:
  LocalTrainer(Loop& loop, Device& device, std::unique_ptr<Trainer> gradients,
               std::unique_ptr<Optimizer> optimizer, const LocalSteps& how, RateSchedule schedule,
               uint64_t rounds, SharedVector local, SharedVector gradient)
      : loop_(loop),
        device_(device),
        gradients_(std::move(gradients)),
        optimizer_(std::move(optimizer)),
        batch_(how.batch),
        most_ahead_(how.ahead),
        schedule_(schedule),
        rounds_(rounds),
        local_(std::move(local)),
        gradient_(std::move(gradient)) {}

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
  void LetGo() override {
    DropAhead();
    gradients_->LetGo();
  }

  void Accumulate(GradientWork work, std::shared_ptr<std::atomic<bool>> cancel,
                  Done done) override {
    if (cancel == nullptr) cancel = std::make_shared<std::atomic<bool>>(false);
    const Shared begun = ahead_.lock();
    const bool awaits =
        begun != nullptr && (begun->phase == Phase::kAhead || begun->phase == Phase::kRests);
    if (awaits && work.ahead && begun->work.step == work.step) {
      return GoOn(begun, std::move(work), std::move(cancel), std::move(done));
    }
    DropAhead();
    auto round = std::make_shared<Round>();
    round->turns = LocalStepCount(Samples(work.step, work.terms), batch_);
    round->work = std::move(work);
    round->cancel = std::move(cancel);
    round->done = std::move(done);
    if (ahead_.expired()) return BeginWithOrder(std::move(round));
    begun->next = std::move(round);
  }

  bool goes_ahead() const override { return most_ahead_ > 0; }

  void GoAhead(StepId step, std::span<const PartitionTerm> terms, Done done) override {
    if (ended_ == std::nullopt || *ended_ + 1 != step || step >= rounds_) return done(Outcome());
    auto round = std::make_shared<Round>();
    round->terms.assign(terms.begin(), terms.end());
    round->work.step = step;
    round->work.terms = round->terms;
    round->turns = LocalStepCount(Samples(step, terms), batch_);
    round->phase = Phase::kAhead;
    round->steps_ahead = std::min(most_ahead_, round->turns - 1);
    round->cancel = std::make_shared<std::atomic<bool>>(false);
    round->done = std::move(done);
    start_.assign(local_->begin(), local_->end());
    ahead_ = round;
    Begin(*round);
    round->steps_ahead > 0 ? TakeStep(std::move(round)) : EndAhead(std::move(round));
  }

 private:
  enum class Phase : uint8_t {
    kAhead,    // It takes its steps ahead.
    kRests,    // All its steps ahead are taken. It waits for its order.
    kOrdered,  // It takes its steps ahead, and was ordered. It joins its version after them.
    kDropped,  // Its steps ahead do not count. The step under way ends soon.
    kJoined    // It goes on from its version, or began with it.
  };
  // What is under way keeps it alive, and with its `done` this trainer. Without `done` it may rest.
  struct Round {
    GradientWork work;
    std::vector<PartitionTerm> terms;  // The work has its own if it was ordered.
    std::shared_ptr<std::atomic<bool>> cancel;
    Done done;  // Until the work is ordered, it belongs to GoAhead.
    uint32_t turn = 0, turns = 1;
    Phase phase = Phase::kJoined;
    uint32_t steps_ahead = 0;     // The number of steps before it joins its version.
    std::shared_ptr<Round> next;  // It begins when this one has failed.
    Time begin{};                 // When it was last under way.
    Outcome total;
  };
  using Shared = std::shared_ptr<Round>;

  void DropAhead() {
    const Shared round = ahead_.lock();
    if (round == nullptr) return;
    *round->cancel = true;
    if (std::exchange(round->phase, Phase::kDropped) != Phase::kRests) return;
    Rewind();
    rests_ = nullptr;
    ahead_.reset();
  }

  void BeginWithOrder(Shared round) {
    std::ranges::copy(round->work.parameters, local_->begin());
    Begin(*round);
    TakeStep(std::move(round));
  }

  void Begin(Round& round) {
    ended_.reset();
    round.begin = loop_.Now();
    before_.steps = optimizer_->steps();
    before_.state.assign(optimizer_->state().begin(), optimizer_->state().end());
  }

  // The round that began ahead is ordered.
  void GoOn(Shared round, GradientWork work, std::shared_ptr<std::atomic<bool>> cancel, Done done) {
    round->work = std::move(work);
    round->cancel = std::move(cancel);
    const Done ahead = std::exchange(round->done, std::move(done));
    if (round->phase == Phase::kAhead) {
      round->phase = Phase::kOrdered;
      return ahead(Outcome());
    }
    rests_ = nullptr;
    round->begin = loop_.Now();
    Join(std::move(round));
  }

  // All steps ahead are taken.
  void EndAhead(Shared round) {
    if (round->phase == Phase::kOrdered) return Join(std::move(round));
    if (round->phase == Phase::kDropped) {
      return Fail(*round, Status::Cancelled("the steps ahead do not count"));
    }
    round->phase = Phase::kRests;
    round->total.compute += loop_.Now() - round->begin;
    const Done ahead = std::exchange(round->done, nullptr);
    rests_ = std::move(round);
    ahead(Outcome());
  }

  // The round goes on from its own parameters, with what the steps ahead changed.
  void Join(Shared round) {
    ahead_.reset();
    round->phase = Phase::kJoined;
    auto join = [this, round] {
      const motley_kernels& kernels = device_.kernels();
      float* const local = local_->data();
      kernels.axpy(device_.queue(), local_->size(), -1, start_.data(), local);
      kernels.axpy(device_.queue(), local_->size(), 1, round->work.parameters.data(), local);
      return Status::Ok();
    };
    device_.Submit(0, std::move(join), [this, round](const Status& joined) {
      joined.ok() ? TakeStep(round) : Fail(*round, joined);
    });
  }

  void TakeStep(Shared round) {
    std::fill(gradient_->begin(), gradient_->end(), 0.0f);
    GradientWork step;
    step.step = TurnOf(round->work.step, round->turn, round->turns);
    step.version = ++version_;  // Each step has parameters of its own.
    step.parameters = *local_;
    step.terms = round->work.terms;
    step.sum = *gradient_;
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
      MOTLEY_RETURN_IF_ERROR(optimizer_->Apply(
          device_, std::span(*gradient_).first(parameter_count()), *local_, from));
      if (last) AddAnswer(*round);
      return Status::Ok();
    };
    device_.Submit(0, std::move(update), [this, round, last](const Status& updated) {
      if (!updated.ok()) return Fail(*round, updated);
      Report(*round, 0);
      const bool ahead = round->phase != Phase::kJoined;
      if (ahead && round->turn == round->steps_ahead) return EndAhead(round);
      if (!last) return TakeStep(round);
      round->total.compute += loop_.Now() - round->begin;
      ended_ = round->work.step;
      round->done(round->total);
    });
  }

  // On the device's thread. The difference is taken first, while its terms are of one size. It
  // takes the room of the gradient, because the next round may begin with these parameters.
  void AddAnswer(const Round& round) {
    const motley_kernels& kernels = device_.kernels();
    const auto weight = static_cast<float>(round.total.tally.weight.real());
    const size_t count = local_->size();
    float* const change = gradient_->data();
    std::ranges::copy(*local_, change);
    kernels.scale(device_.queue(), count, -1, change);
    kernels.axpy(device_.queue(), count, 1, round.work.parameters.data(), change);
    kernels.axpy(device_.queue(), count, weight, change, round.work.sum.data());
  }

  static void Report(const Round& round, uint64_t in_step) {
    if (round.work.progress) round.work.progress(round.total.samples + in_step);
  }

  void Fail(Round& round, const Status& why) {
    Rewind();
    if (round.phase != Phase::kJoined) ahead_.reset();
    round.done(why);
    if (round.next != nullptr) BeginWithOrder(std::move(round.next));
  }

  void Rewind() {
    const Status restored = optimizer_->Restore(before_.steps, before_.state);
    MOTLEY_ASSERT(restored.ok());
  }

  Loop& loop_;
  Device& device_;
  std::unique_ptr<Trainer> gradients_;
  std::unique_ptr<Optimizer> optimizer_;
  const uint32_t batch_;
  const uint32_t most_ahead_;
  const RateSchedule schedule_;
  const uint64_t rounds_;
  std::weak_ptr<Round> ahead_;   // The round that began ahead and has not joined its version.
  Shared rests_;                 // The same in kRests, when nothing else keeps it.
  std::optional<StepId> ended_;  // The round that local_ has the last parameters of.
  // The round under way has these: the parameters, those before the steps ahead, the gradient of a
  // step, and the optimizer's state before the first one.
  const SharedVector local_;
  std::vector<float> start_;
  const SharedVector gradient_;
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
                                                  const LocalSteps& how, uint64_t rounds,
                                                  OwnMemory memory) {
  MOTLEY_ASSERT(how.batch > 0);
  MOTLEY_ASSIGN_OR_RETURN(auto optimizer,
                          Optimizer::Create(how.optimizer, gradients->parameter_count()));
  MOTLEY_ASSIGN_OR_RETURN(const RateSchedule schedule, ParseSchedule(how.optimizer.schedule));
  const size_t count = gradients->parameter_count();
  MOTLEY_ASSIGN_OR_RETURN(SharedVector local,
                          HostVector::Make("a worker's own parameters", count, memory));
  MOTLEY_ASSIGN_OR_RETURN(
      SharedVector gradient,
      HostVector::Make("a worker's own gradient", VectorLength(count), std::move(memory)));
  return std::unique_ptr<Trainer>(
      std::make_unique<LocalTrainer>(loop, device, std::move(gradients), std::move(optimizer), how,
                                     schedule, rounds, std::move(local), std::move(gradient)));
}

}  // namespace motley
