// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/updater.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "runtime/coordinator/audit_findings.h"
#include "runtime/coordinator/dispatcher.h"
#include "runtime/coordinator/event_pump.h"
#include "runtime/coordinator/job_ending.h"
#include "runtime/coordinator/step_watch.h"
#include "runtime/saving/saved_job.h"
#include "runtime/shard/answers.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

// The mean square error in the coverage that rounding leaves when least squares find an exact sum.
constexpr double kExact = 1e-18;

}  // namespace

Updater::Updater(ServerContext& server, JobDescription about)
    : server_(server), shown_(server.options.resume != nullptr ? server.options.resume->step : 0) {
  server.validator->SetHooks({[this](const JudgedVersion& judged) {
                                server_.observer.OnEvent(event::VersionJudged{judged});
                              },
                              [this](const Status& why) { OnNotJudged(why); },
                              [this] { server_.end.Check(); }});
  if (server.options.checkpoint.every == 0) return;
  checkpointer_ = std::make_unique<Checkpointer>(
      server.env.loop, *server.env.disk, server.options, std::move(about),
      Checkpointer::Hooks{
          [this](SnapshotDone done) { TakeSnapshot(std::move(done)); },
          [this] { return History(); },
          [this](uint64_t steps) { server_.observer.OnEvent(event::CheckpointSafe{steps}); },
          [this](const JobNotice& notice) { server_.Say(notice); }, [this] { server_.end.Check(); },
          [this] {
            if (server_.remote == nullptr) return false;
            CopyReader& copies = server_.remote->shards().readers().copies;
            const bool reading = copies.reading();
            if (reading) copies.Stop();
            return reading;
          }});
}

void Updater::Commit(const CommitStep& command) {
  const StepId step = command.step;
  if (server_.remote == nullptr) {
    committed_.push_back(command);
    return CommitNext();
  }
  server_.remote->Commit(command, [this, step](const RemoteShards::Sum& found) {
    Sum sum{.step = step, .tally = found.tally, .amplification = found.amplification};
    if (!found.weights.empty() && found.error > kExact) {
      sum.approximate = std::make_shared<ApproximateSum>(
          ApproximateSum{found.weights, found.coverage, found.error});
    }
    sum.version = step;  // There is a barrier.
    sum.samples = SamplesOf(step);
    sum.squares = found.squares;
    sum.attempt = server_.remote->shards().attempt();
    OnSummed(std::move(sum));
  });
}

// Applies the next update whose turn it is, unless another one is being applied.
void Updater::CommitNext() {
  if (busy_) return;
  auto next = committed_.begin();
  if (server_.options.sync.in_order) {
    next = std::find_if(next, committed_.end(), [this](const CommitStep& each) {
      return each.step == server_.model->version();
    });
  }
  if (next == committed_.end()) return;
  const CommitStep command = *next;
  committed_.erase(next);
  busy_ = true;
  Result<Sum> sum = SumUp(command);
  if (sum.ok()) return OnSummed(std::move(sum).value());
  server_.end.End(
      sum.status().WithContext(fmt::format("step {} could not be decoded", command.step)));
}

// The samples of the open update.
double Updater::SamplesOf(StepId step) const {
  if (server_.options.turns == 1) return server_.schedule.batch_size(step);
  const auto ranges = server_.schedule.SharedRanges(step);
  double samples = 0;
  for (const CodeEntry& entry : server_.answers.orders().Find(step)->form()->rows.front()) {
    samples += (*ranges)[entry.partition].count;
  }
  return samples;
}

Result<Updater::Sum> Updater::SumUp(const CommitStep& command) {
  Sum sum{.step = command.step, .samples = SamplesOf(command.step)};
  // The last row may have made the step decodable.
  if (!command.approximately || server_.answers.decodable(command.step)) {
    MOTLEY_ASSIGN_OR_RETURN(sum.values, server_.answers.Close(command.step));
  } else {
    MOTLEY_ASSIGN_OR_RETURN(const Answers::Approximation best,
                            server_.answers.CloseApproximately(command.step));
    sum.values = best.sum;
    if (best.decoding.error > kExact) {
      const auto approximate = std::make_shared<ApproximateSum>();
      for (const Complex& a : best.decoding.a) approximate->weights.push_back(a.real());
      for (const Complex& alpha : best.decoding.coverage) {
        approximate->coverage.push_back(alpha.real());
      }
      approximate->error = best.decoding.error;
      sum.approximate = approximate;
    }
  }
  sum.version = sum.values->oldest_version();
  sum.worker = sum.values->worker();
  sum.computed_with = sum.values->TakeOldest();
  sum.tally = sum.values->tally();
  sum.amplification = sum.values->amplification();
  return sum;
}

void Updater::OnSummed(Sum sum) {
  const StepId step = sum.step;
  // In a round of local steps, the samples of those who answered count, and no others.
  const Result<double> weight =
      server_.options.local.batch > 0
          ? Result<double>(sum.tally.weight.real())
          : BatchWeight(sum.tally, sum.samples, server_.CountsAreKnown(),
                        *server_.schedule.SharedRanges(step), sum.approximate.get());
  if (!weight.ok()) {
    return server_.end.End(weight.status().WithContext(fmt::format("step {}", step)));
  }
  sum.weight = *weight;
  const double loss = *weight > 0 ? sum.tally.loss.real() / *weight : 0;
  server_.record.Decoded(loss, sum.amplification, sum.approximate.get());
  if (sum.approximate != nullptr) {
    server_.observer.OnEvent(event::StepApproximated{step, *sum.approximate, server_.Now()});
  }
  // A batch that weighs nothing has no loss.
  if (const auto warning = *weight > 0 ? losses_.Add(step, loss) : std::nullopt) {
    server_.Say(*warning);
  }
  if (sum.values != nullptr) return Decoded(sum, sum.values->values());
  if (!server_.options.read_every_version) {
    return server_.audits.auditor().WhenFree([this, sum] { Apply(sum); });
  }
  ReadSum([this, sum](std::span<const float> values) { Decoded(sum, values); });
}

void Updater::ReadSum(std::function<void(std::span<const float>)> then) {
  if (server_.end.ended()) return;
  server_.remote->shards().Fetch(
      RemoteShards::Part::kSum,
      [this, then = std::move(then)](const Result<RemoteShards::State>& read) {
        if (!read.ok()) return server_.remote->WhenPlaced([this, then] { ReadSum(then); });
        std::vector<float> values = *read->parameters;
        values.resize(VectorLength(values.size()));
        then(values);
      });
}

void Updater::Decoded(const Sum& sum, std::span<const float> values) {
  server_.observer.OnEvent(event::StepDecoded{sum.step,
                                              {values, sum.tally.loss.real(), sum.weight},
                                              *server_.model->parameters(),
                                              server_.Now(),
                                              sum.version,
                                              sum.worker});
  server_.audits.auditor().WhenFree([this, sum] { Apply(sum); });
  server_.dispatcher.SendHeldCancels();
}

void Updater::Apply(const Sum& sum) {
  const StepId step = sum.step;
  // The update may have started again while its sum was read.
  if (server_.remote != nullptr && !server_.remote->shards().CanApply(step, sum.attempt)) return;
  // With the shards elsewhere, updates are applied in the order of their numbers.
  const uint64_t version = server_.remote != nullptr ? step : server_.model->version();
  const OptimizerOptions& by = server_.options.optimizer;
  const double samples =
      server_.options.turns > 1
          ? sum.samples
          : EffectiveSamples(*server_.schedule.SharedRanges(step), sum.approximate.get());
  const double scheduled = server_.validator->RateFactor(version, samples);
  Contribution from{.weight = sum.weight,
                    .rate_factor = scheduled,
                    .worker = sum.worker,
                    .staleness = version - sum.version};
  double rate = by.learning_rate;
  if (!by.groups.empty()) {
    if (guidance_.group_rates) from.group_rates = guidance_.group_rates->Of(version);
    rate = from.group_rates.empty() ? by.groups[0].learning_rate : from.group_rates[0];
  } else if (guidance_.learning_rate) {
    rate = *guidance_.learning_rate;
    from.rate_factor *= rate / by.learning_rate;
  }
  server_.observer.OnEvent(event::RateSet{version, scheduled * rate});
  if (server_.remote != nullptr) return ApplyAtWorkers(sum, from);
  auto copy = server_.audits.auditor().Prepare(step, server_.model->parameters(), sum.approximate);
  server_.model->Commit(step, {sum.values, sum.computed_with}, from, std::move(copy),
                        [this, step, from](const Status& status) {
                          const bool diverged = status.code() == StatusCode::kDataError;
                          if (!status.ok()) return server_.end.End(status, diverged);
                          OnApplied(step, server_.model->version(), from);
                        });
}

void Updater::ApplyAtWorkers(const Sum& sum, const Contribution& from) {
  wire::ShardApplyT apply;
  apply.weight = from.weight;
  apply.rate_factor = from.rate_factor;
  apply.group_rates = from.group_rates;
  if (server_.options.optimizer.clip > 0 && sum.weight > 0) {
    apply.norm = std::sqrt(sum.squares) / sum.weight;
  }
  Auditor& auditor = server_.audits.auditor();
  if (auditor.Prepare(sum.step, nullptr, sum.approximate) != nullptr) {
    server_.remote->shards().ReadForAudit(sum.step, [&auditor](Result<Auditor::Reported> reported) {
      auditor.Begin(std::move(reported));
    });
  }
  const auto applied = [this, step = sum.step, from](const Status& status) {
    if (status.ok()) return OnAppliedAtWorkers(step, from);
    if (status.code() == StatusCode::kCancelled) {
      server_.observer.OnEvent(event::UpdateTakenBack{step});
      return server_.end.Check();
    }
    server_.model->Spoil();
    const bool diverged = status.code() == StatusCode::kDataError;
    server_.end.End(diverged ? Diverged(step) : status, diverged);
  };
  server_.remote->shards().Apply(apply, applied);
}

// The server reads the parameters back only where it needs them itself, and Proceed forgets them.
void Updater::OnAppliedAtWorkers(StepId step, const Contribution& from) {
  if (server_.end.ended()) return server_.end.Check();
  const uint64_t version = step + 1;
  const JobOptions& options = server_.options;
  const bool saved = checkpointer_ != nullptr && version % options.checkpoint.every == 0;
  const bool judged = options.validation.evaluates() && options.validation.every > 0 &&
                      version % options.validation.every == 0;
  const auto go_on = [this, step, version, from] { OnApplied(step, version, from); };
  // A job that reads every version compares its checkpoints with what it reads.
  const bool state = (saved && options.read_every_version) || Shows(version);
  // While the job pauses, its caller may copy the parameters.
  const bool paused = version >= guidance_.allowed_steps && version < options.steps;
  if (!state && !judged && !paused && !options.read_every_version) return go_on();
  if (Fetch(state, go_on) == Copy::kHere) go_on();
}

bool Updater::applying() const {
  return server_.remote != nullptr && server_.remote->shards().applying() &&
         server_.remote->shards().reachable();
}

Updater::Copy Updater::Fetch(bool state, std::function<void()> then) {
  if (server_.remote == nullptr) return Copy::kHere;
  RemoteShards& shards = server_.remote->shards();
  if (!shards.began() || server_.model->Has(shards.version(), state)) return Copy::kHere;
  if (shards.applying()) return Copy::kComing;
  if (shards.rolling_back()) return FetchLater(state, std::move(then));
  if (shards.fetching()) {  // Another copy is on its way, perhaps for a new follower.
    server_.remote->WhenPlaced([this] { server_.end.Check(); });
    return Copy::kComing;
  }
  if (!shards.reachable()) return Copy::kLost;
  const auto part = state ? RemoteShards::Part::kValuesAndState : RemoteShards::Part::kValues;
  shards.Fetch(part, [this, state, then = std::move(then)](Result<RemoteShards::State> read) {
    if (read.ok()) {
      server_.model->Read(std::move(read).value());
      then();
      return server_.end.Check();
    }
    // A shard is moving. Its new owner can be asked soon.
    FetchLater(state, then);
  });
  return Copy::kComing;
}

Updater::Copy Updater::FetchLater(bool state, std::function<void()> then) {
  server_.remote->WhenPlaced([this, state, then = std::move(then)] {
    const Copy copy = Fetch(state, then);
    if (copy == Copy::kHere) then();
    if (copy != Copy::kComing) server_.end.Check();
  });
  return Copy::kComing;
}

void Updater::OnApplied(StepId step, uint64_t version, const Contribution& from) {
  server_.audits.auditor().Begin();
  const Time now = server_.Now();
  server_.record.Applied(now, from.staleness);
  const double loss = server_.record.last_batch_loss();
  // The loss is added now and not when it was decoded. A checkpoint in progress, or a step that is
  // never applied, would otherwise lead to counting it twice.
  server_.validator->OnLoss(loss, from.weight);
  server_.watch.Progress();
  const ParameterCopy& parameters = server_.model->parameters();
  server_.observer.OnEvent(event::StepApplied{version - 1, *parameters, loss, now, from.staleness,
                                              server_.model->StateRead(), from.weight});
  server_.validator->OnVersion(version, parameters,
                               [this, step, version](bool stop) { Proceed(step, version, stop); });
}

void Updater::Proceed(StepId step, uint64_t version, bool stop) {
  server_.watch.Progress();  // The step may have waited for an evaluation.
  const bool all = version >= server_.options.steps;
  // The last version is saved at the end, with the result of its evaluation.
  const bool last = stop || all || server_.end.ended();
  if (checkpointer_ != nullptr && !last) checkpointer_->OnVersion(version);
  if (Shows(version) && !server_.end.ended()) Show(version);
  if (all || version < guidance_.allowed_steps) ForgetCopy();
  if (stop && !all && !server_.end.ended()) {
    return server_.end.StopEarly(
        fmt::format("{} in a row brought no progress; the best loss is that of step {}",
                    Counted(server_.options.validation.patience, "judgement"),
                    server_.validator->Summary().best_version));
  }
  const auto go_on = [this, step] {
    ForgetCopy();
    GoOn(step);
  };
  if (!all && PausesAt(version, go_on)) return;
  GoOn(step);
}

// Evaluations and checkpoints hold what they still need.
void Updater::ForgetCopy() {
  if (server_.remote == nullptr || server_.options.read_every_version || server_.end.ended()) {
    return;
  }
  server_.model->Forget();
}

void Updater::Follow(const Guidance& guidance) {
  guidance_ = guidance;
  if (!paused() || server_.record.steps() >= guidance.allowed_steps) return;
  std::exchange(paused_, nullptr)();
}

bool Updater::PausesAt(uint64_t steps, std::function<void()> then) {
  if (steps < guidance_.allowed_steps) return false;
  paused_ = std::move(then);
  return true;
}

// The caller's trainer wants to see this version.
bool Updater::Shows(uint64_t version) const {
  const JobOptions& options = server_.options;
  return options.foreign != nullptr && options.foreign->show &&
         (version >= guidance_.allowed_steps || version >= options.steps);
}

void Updater::Show(uint64_t version) {
  const std::vector<double>& all = server_.record.history().batch_loss;
  const size_t count = std::min<uint64_t>(version - std::exchange(shown_, version), all.size());
  std::vector<double> losses(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
  showing_ = true;
  server_.model->Show(server_.options.foreign->show, std::move(losses),
                      [this](const Status& status) {
                        showing_ = false;
                        const bool stopped = status.code() == StatusCode::kCancelled;
                        if (!status.ok() && !stopped) server_.end.End(status);
                        server_.end.Check();
                      });
}

// The scheduler opens the next step.
void Updater::GoOn(StepId step) {
  server_.pump.Raise(StepApplied{step});
  busy_ = false;
  if (!server_.end.ended()) CommitNext();
}

// The last version is judged after the job's end, so a failure then no longer ends the job.
void Updater::OnNotJudged(const Status& why) {
  if (!server_.end.ended()) return server_.end.End(why);
  const Validator& validator = *server_.validator;
  server_.Say(notice::LastNotJudged{
      why, validator.best() ? std::optional(validator.best_version()) : std::nullopt});
}

// No newer version exists yet. So the validator has judged this version at most, even if it judges
// now.
void Updater::TakeSnapshot(SnapshotDone done) {
  const bool beside = server_.remote != nullptr && server_.remote->began() && !server_.end.ended();
  if (beside) return TakeBesideSteps(std::move(done));
  server_.model->TakeSnapshot([this, done = std::move(done)](Result<ModelSnapshot> taken) mutable {
    if (!taken.ok()) return done(std::move(taken));
    server_.validator->WhenSettled(
        [done = std::move(done), taken = std::move(taken)](const ValidationState& state) mutable {
          taken->validation = state;
          done(std::move(taken));
        });
  });
}

// The nodes that hold the vector send the version while steps go on. The state of the validation is
// that of now.
void Updater::TakeBesideSteps(SnapshotDone done) {
  struct Parts {
    std::optional<ModelSnapshot> model;
    std::optional<ValidationState> validation;
    SnapshotDone done;

    void FinishIfAll() {
      if (!model || !validation) return;
      model->validation = std::move(*validation);
      done(std::move(*model));
    }
  };
  const auto parts = std::make_shared<Parts>();
  parts->done = std::move(done);
  server_.validator->WhenSettled([parts](const ValidationState& state) {
    parts->validation = state;
    parts->FinishIfAll();
  });
  RemoteShards& shards = server_.remote->shards();
  shards.readers().copies.Begin(shards.version(), [parts](Result<ShardState> read) {
    if (!read.ok()) return parts->done(read.status());
    parts->model = ModelSnapshot{read->parameters, read->optimizer_steps, read->arrays};
    parts->FinishIfAll();
  });
}

JobHistory Updater::History() const {
  JobHistory history = server_.record.history();
  AddTo(history);
  return history;
}

void Updater::AddTo(JobHistory& history) const { server_.audits.AddTo(history); }

}  // namespace motley
