// SPDX-License-Identifier: Apache-2.0
// Updates, and the judgements between them.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "base/counted.h"
#include "coding/schemes.h"
#include "runtime/coordinator/server_job.h"
#include "training/trainers/trainer.h"

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
  if (remote_ != nullptr) return CommitRemotely(command);
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

void ServerJob::TakeSnapshot(SnapshotDone done) {
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

// --- With shards that workers hold ---

std::unique_ptr<RemoteUpdates> ServerJob::MakeRemote() {
  RemoteUpdates::Hooks hooks;
  hooks.node = [this](WorkerId worker) -> std::optional<RemoteShards::Hooks::Node> {
    const Session* session = SessionOf(worker);
    if (session == nullptr) return std::nullopt;
    return RemoteShards::Hooks::Node{session->peer, session->header};
  };
  hooks.execute = [this](const Command& command) { CarryOut(command); };
  hooks.answered = [this] { inbox_->TakeWaitingEnds(); };
  hooks.raise = [this](Event event) { pump_.Raise(std::move(event)); };
  hooks.failed = [this](const Status& why) { End(why); };
  hooks.notice = [this](const JobNotice& notice) { Say(notice); };
  hooks.first = [this] { return model_->State(); };
  return std::make_unique<RemoteUpdates>(env_.loop, env_.transport, options_, model_->route(),
                                         model_->version(), *answers_, std::move(hooks));
}

void ServerJob::CommitRemotely(const CommitStep& command) {
  remote_->Commit(command, [this, step = command.step](const RemoteShards::Sum& sum) {
    ApplyRemotely(step, sum);
  });
}

void ServerJob::ApplyRemotely(StepId step, const RemoteShards::Sum& sum) {
  std::shared_ptr<ApproximateSum> approximate;
  if (!sum.weights.empty() && sum.error > kExact) {
    approximate = std::make_shared<ApproximateSum>();
    *approximate = {sum.weights, sum.coverage, sum.error};
  }
  const Result<double> weight = BatchWeight(sum.tally, schedule_.batch_size(step), CountsAreKnown(),
                                            *schedule_.SharedRanges(step), approximate.get());
  if (!weight.ok()) return End(weight.status().WithContext(fmt::format("step {}", step)));
  const double loss = *weight > 0 ? sum.tally.loss.real() / *weight : 0;
  record_.Decoded(loss, sum.amplification, approximate.get());
  if (approximate != nullptr) {
    observer_.OnEvent(event::StepApproximated{step, *approximate, env_.loop.Now()});
  }
  if (const auto warning = *weight > 0 ? losses_.Add(step, loss) : std::nullopt) Say(*warning);
  const auto apply = [this, step, attempt = remote_->shards().attempt(), weight = *weight,
                      squares = sum.squares] {
    // The update may have started again while its sum was read.
    if (remote_->shards().CanApply(step, attempt)) SendApply(step, weight, squares);
  };
  if (!options_.read_every_version) return apply();
  ReadSum([this, step, loss_sum = sum.tally.loss.real(), weight = *weight,
           apply](const RemoteShards::State& read) {
    std::vector<float> values = *read.parameters;
    values.resize(VectorLength(values.size()));
    observer_.OnEvent(event::StepDecoded{
        step, {values, loss_sum, weight}, *model_->parameters(), env_.loop.Now()});
    apply();
  });
}

void ServerJob::SendApply(StepId step, double weight, double squares) {
  const double factor = validator_->RateFactor(step);
  observer_.OnEvent(event::RateSet{step, factor * options_.optimizer.learning_rate});
  wire::ShardApplyT apply;
  apply.weight = weight;
  apply.rate_factor = factor;
  if (options_.optimizer.clip > 0 && weight > 0) apply.norm = std::sqrt(squares) / weight;
  remote_->shards().Apply(apply, [this, step, weight](const Status& status) {
    if (status.code() == StatusCode::kDataError) return End(Diverged(step));
    if (!status.ok()) return End(status);
    OnAppliedRemotely(step, weight);
  });
}

// The server reads the parameters back only where it needs them itself.
void ServerJob::OnAppliedRemotely(StepId step, double weight) {
  const uint64_t version = step + 1;
  const bool saved = checkpointer_ != nullptr && version % options_.checkpoint.every == 0;
  const bool judged = options_.validation.samples != nullptr && options_.validation.every > 0 &&
                      version % options_.validation.every == 0;
  if (ended_) return FinishWhenQuiet();
  if (!saved && !judged && !options_.read_every_version) {
    return OnApplied(step, weight, Status::Ok());
  }
  const auto go_on = [this, step, weight, version, saved] {
    // Otherwise a shard is lost, and the job ends.
    if (model_->Has(version, saved)) OnApplied(step, weight, Status::Ok());
  };
  if (Fetch(saved, go_on)) go_on();
}

// Has the newest version here, with the optimizer's state if wanted. Otherwise returns false, and
// `then` runs when it is.
bool ServerJob::Fetch(bool state, std::function<void()> then) {
  RemoteShards& shards = remote_->shards();
  if (!shards.began() || model_->Has(shards.version(), state)) return true;
  if (shards.applying()) return false;
  if (shards.fetching()) {  // Another copy is on its way, perhaps for a new follower.
    remote_->WhenPlaced([this] {
      if (ended_) FinishWhenQuiet();
    });
    return false;
  }
  if (!shards.reachable()) return true;  // The job ends with the last version that was read.
  const auto part = state ? RemoteShards::Part::kValuesAndState : RemoteShards::Part::kValues;
  shards.Fetch(part, [this, state, then = std::move(then)](Result<RemoteShards::State> read) {
    if (read.ok()) {
      model_->Read(std::move(read).value());
      then();
      if (ended_) FinishWhenQuiet();
      return;
    }
    // A shard is moving. Its new owner can be asked soon.
    remote_->WhenPlaced([this, state, then] {
      if (Fetch(state, then)) then();
    });
  });
  return false;
}

void ServerJob::ReadSum(std::function<void(const RemoteShards::State&)> then) {
  if (ended_) return;
  remote_->shards().Fetch(RemoteShards::Part::kSum,
                          [this, then = std::move(then)](const Result<RemoteShards::State>& read) {
                            if (read.ok()) return then(*read);
                            remote_->WhenPlaced([this, then] { ReadSum(then); });
                          });
}

// Sends the newest parameters, unless the worker has them.
void ServerJob::Publish(Session& session) {
  if (remote_ != nullptr) return;  // The owners of the shards do it.
  const uint64_t sent = session.Publish(model_->version(), model_->parameters());
  if (SchemeNamed(options_.code).chosen_later() && options_.workers > 1) session.turn.Ask();
  if (!options_.measure_links) return;
  session.link.Ask(sent);
}

// There is no memory for one more version. The connection that still reads the oldest
// version is cut, because slices under way cannot be taken back otherwise.
bool ServerJob::FreeVersion() {
  std::optional<Publisher::Oldest> oldest;
  for (const auto& shard : model_->shards()) {
    const auto found = shard->publisher().OldestReader(model_->version());
    if (found && (!oldest || found->version < oldest->version)) oldest = found;
  }
  if (!oldest) return false;
  peers_.Disconnect(
      oldest->peer,
      Status::Unavailable("it has not read an old version of the parameters for so long that "
                          "no memory is left for a new one: it may join again"));
  return true;
}

}  // namespace motley
