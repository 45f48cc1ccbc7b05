// SPDX-License-Identifier: Apache-2.0
// Updates, and the judgements between them.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/counted.h"
#include "runtime/coordinator/server_job.h"

namespace motley {
namespace {

// The mean square error in the coverage that rounding leaves when least squares find an exact sum.
constexpr double kExact = 1e-18;

}  // namespace

Result<std::shared_ptr<UpdateSum>> ServerJob::SumUp(
    const CommitStep& command, std::shared_ptr<const ApproximateSum>& approximate) {
  const StepId step = command.step;
  // The last row may have made the step decodable.
  if (!command.approximately || answers_->decodable(step)) return answers_->Close(step);
  MOTLEY_ASSIGN_OR_RETURN(const Answers::Approximation best, answers_->CloseApproximately(step));
  if (best.decoding.error <= kExact) return best.sum;
  const auto sum = std::make_shared<ApproximateSum>();
  for (const Complex& a : best.decoding.a) sum->weights.push_back(a.real());
  for (const Complex& alpha : best.decoding.coverage) sum->coverage.push_back(alpha.real());
  sum->error = best.decoding.error;
  approximate = sum;
  return best.sum;
}

void ServerJob::Do(const CommitStep& command) {
  const StepId step = command.step;
  std::shared_ptr<const ApproximateSum> approximate;
  const auto summed = SumUp(command, approximate);
  if (!summed.ok()) {
    return End(summed.status().WithContext(fmt::format("step {} could not be decoded", step)));
  }
  const std::shared_ptr<UpdateSum>& sum = *summed;
  const Tally& tally = sum->tally();
  const Result<double> weight = BatchWeight(tally, schedule_.batch_size(step), CountsAreKnown(),
                                            *schedule_.SharedRanges(step), approximate.get());
  if (!weight.ok()) return End(weight.status().WithContext(fmt::format("step {}", step)));
  const double loss = *weight > 0 ? tally.loss.real() / *weight : 0;
  record_.Decoded(loss, sum->amplification(), approximate.get());
  if (approximate != nullptr) {
    observer_.OnEvent(event::StepApproximated{step, *approximate, env_.loop.Now()});
  }
  // A batch that weighs nothing has no loss.
  if (const auto warning = *weight > 0 ? losses_.Add(step, loss) : std::nullopt) {
    Say(*warning);
  }
  observer_.OnEvent(event::StepDecoded{
      step, {sum->values(), tally.loss.real(), *weight}, *model_->parameters(), env_.loop.Now()});
  auditor_.WhenFree(
      [this, step, sum, weight = *weight, approximate] { Apply(step, sum, weight, approximate); });
  TellOfHeldCancels();
}

void ServerJob::Apply(StepId step, std::shared_ptr<UpdateSum> sum, double weight,
                      std::shared_ptr<const ApproximateSum> approximate) {
  auto copy = auditor_.Prepare(step, model_->parameters(), std::move(approximate));
  const double factor = validator_->RateFactor(step);
  observer_.OnEvent(event::RateSet{step, factor * options_.optimizer.learning_rate});
  model_->Commit(step, std::move(sum), {.weight = weight, .rate_factor = factor}, std::move(copy),
                 [this, step, weight](const Status& status) { OnApplied(step, weight, status); });
}

void ServerJob::OnApplied(StepId step, double weight, const Status& status) {
  if (!status.ok()) return End(status);
  auditor_.Begin();
  const Time now = env_.loop.Now();
  record_.Applied(now);
  // The loss is added now and not when it was decoded. A checkpoint in progress, or a step that is
  // never applied, would otherwise lead to counting it twice.
  validator_->OnLoss(record_.last_batch_loss(), weight);
  watch_.Progress();
  observer_.OnEvent(
      event::StepApplied{step, *model_->parameters(), record_.last_batch_loss(), now});
  validator_->OnVersion(step + 1, model_->parameters(),
                        [this, step](bool stop) { Proceed(step, stop); });
}

void ServerJob::Proceed(StepId step, bool stop) {
  watch_.Progress();  // The step may have waited for an evaluation.
  const bool last = stop || step + 1 >= options_.steps;
  // The last version is saved at the end, with the result of its evaluation.
  if (checkpointer_ != nullptr && !last) checkpointer_->OnVersion(step + 1);
  if (stop && step + 1 < options_.steps && !ended_) {
    const ValidationSummary found = validator_->Summary();
    why_stopped_ =
        fmt::format("{} in a row brought no progress; the best loss is that of step {}",
                    Counted(options_.validation.patience, "judgement"), found.best_version);
    return End(Status::Ok());
  }
  pump_.Raise(StepApplied{step});
}

// The last version is judged after the job's end, so a failure then no longer ends the job.
void ServerJob::OnNotJudged(const Status& why) {
  if (!ended_) return End(why);
  Say(notice::LastNotJudged{
      why, validator_->best() ? std::optional(validator_->best_version()) : std::nullopt});
}

void ServerJob::TakeSnapshot(ServerModel::SnapshotDone done) {
  // No newer version exists before the snapshot is taken. So the validator has judged this version
  // at most, even if it judges now.
  model_->TakeSnapshot([this, done = std::move(done)](Result<ModelSnapshot> snapshot) mutable {
    if (!snapshot.ok()) return done(std::move(snapshot));
    validator_->WhenSettled([done = std::move(done),
                             snapshot = std::move(snapshot)](const ValidationState& state) mutable {
      snapshot->validation = state;
      done(std::move(snapshot));
    });
  });
}

}  // namespace motley
