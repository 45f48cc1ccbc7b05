// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/job_ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/counted.h"
#include "runtime/coordinator/audit_findings.h"
#include "runtime/coordinator/event_pump.h"
#include "runtime/coordinator/server_peers.h"
#include "runtime/coordinator/step_watch.h"
#include "runtime/coordinator/updater.h"
#include "runtime/worker_names.h"

namespace motley {

void JobEnding::Start(ServerNode::Finished finished) {
  finished_ = std::move(finished);
  server_.model->SetIdle([this] { Check(); });
}

void JobEnding::End(Status status, bool diverged) {
  if (std::exchange(ended_, true)) {
    // The update that was being applied when the job ended well has failed.
    const bool stop = status.code() == StatusCode::kCancelled;
    if (!status_.ok() || said_goodbye_ || stop) return;
    status_ = std::move(status);
    diverged_ = diverged;
    return;
  }
  status_ = std::move(status);
  diverged_ = diverged;
  server_.audits.auditor().End(/*hurry=*/!status_.ok());
  server_.pump.Stop();
  server_.watch.Stop();
  // Posted, because an update that could not begin ends the job from inside the model.
  server_.env.loop.Post(alive_.Guard([this] { Check(); }));
}

void JobEnding::StopEarly(std::string why) {
  why_stopped_ = std::move(why);
  End(Status::Ok());
}

// The user of a job that never began must know which worker left last.
void JobEnding::Do(const EndJob& command) {
  Status status = command.status;
  if (command.last) {
    const auto& [worker, why] = *command.last;
    status = Status(
        status.code(),
        fmt::format("{} (the last, {}: {})", status.ToString(),
                    DescribeWorker(worker, server_.peers.seats()[worker].name), why.ToString()));
  }
  if (status.code() == StatusCode::kUnavailable && !server_.record.began() &&
      !last_to_leave_.empty()) {
    status = Status::Unavailable(
        fmt::format("{}; the last to leave was {}", status.ToString(), last_to_leave_));
  }
  const bool diverged = status.code() == StatusCode::kDataError;
  End(std::move(status), diverged);
}

void JobEnding::Stuck() {
  const auto workers = std::span(server_.sessions).first(server_.options.workers);
  const auto connected = std::count_if(workers.begin(), workers.end(),
                                       [](const auto& session) { return session != nullptr; });
  const std::string last =
      last_to_leave_.empty() ? "" : "; the last to leave was " + last_to_leave_;
  End(Status::Unavailable(fmt::format(
      "step {} has made no progress for {} s, the limit that `step_limit` sets; {} of {} "
      "workers are connected{}",
      server_.record.steps(), ToSeconds(server_.options.step_limit), connected,
      server_.options.workers, last)));
}

void JobEnding::Left(WorkerId worker, const Status& why) {
  last_to_leave_ = fmt::format("{}: {}", DescribeWorker(worker, server_.peers.seats()[worker].name),
                               why.ToString());
}

// Something is under way.
bool JobEnding::Busy() const {
  return server_.updater.applying() || server_.updater.showing() || server_.model->busy() ||
         server_.audits.auditor().busy() || server_.validator->busy();
}

void JobEnding::Check() {
  if (!ended_ || !finished_ || Busy()) return;
  if (!MakeRoom()) return;
  const bool state = server_.updater.checkpointer() != nullptr;
  const Updater::Copy copy = server_.updater.Fetch(state, [] {});
  if (copy == Updater::Copy::kComing) return;
  if (copy == Updater::Copy::kLost && !std::exchange(lost_, true)) Lose();
  // Precedes the checkpoint, which keeps the version that the job leaves.
  if (status_.ok() &&
      !server_.validator->Finish(server_.record.steps(), server_.model->parameters())) {
    return;
  }
  if (!Saved()) return;
  SayGoodbye();
  if (!gone_) return;
  const auto result = std::make_shared<JobResult>(TakeResult());
  // Posted, so that the caller may destroy the server from inside its callback.
  server_.env.loop.Post(alive_.Guard(
      [finished = std::exchange(finished_, nullptr), result] { finished(std::move(*result)); }));
}

// Ends the reading of another version before the last one comes from other nodes, because this
// process has memory for one. False: another one is still being written. Without the last one, a
// version that is being read is the best that is left.
bool JobEnding::MakeRoom() {
  Checkpointer* const checkpointer = server_.updater.checkpointer();
  const bool elsewhere = server_.remote != nullptr && server_.remote->began();
  if (checkpointer == nullptr || !elsewhere || lost_ || server_.model->spoiled()) return true;
  if (!server_.remote->shards().reachable()) return true;
  checkpointer->StopTaking();
  return checkpointer->ReadyForLast(server_.record.steps());
}

// The newest version can never come. Perhaps only the optimizer's state is missing, which nobody
// but a checkpoint needs. Otherwise the job has failed, even if all steps were done.
void JobEnding::Lose() {
  const uint64_t steps = server_.record.steps();
  if (server_.model->Has(steps, /*state=*/false)) return;
  const Validator& validator = *server_.validator;
  std::string left = fmt::format(
      "the newest parameters, those after step {}, are lost with the node that held them", steps);
  if (validator.best()) {
    left += fmt::format("; the best ones, after step {}, are left", validator.best_version());
  }
  status_ = status_.ok() ? Status::Unavailable(left)
                         : Status(status_.code(), fmt::format("{}; {}", status_.ToString(), left));
}

// The last checkpoint is safe, or none can be saved.
bool JobEnding::Saved() {
  Checkpointer* checkpointer = server_.updater.checkpointer();
  if (checkpointer == nullptr) return true;
  if (server_.model->spoiled() || lost_) return checkpointer->Settle();
  return checkpointer->SaveLast(server_.record.steps());
}

// Called only when the last checkpoint is safe. Until then this process may die, and the run that
// resumes the job needs workers. Waiting workers receive heartbeats, and a worker that connects
// again may join.
void JobEnding::SayGoodbye() {
  if (std::exchange(said_goodbye_, true)) return;
  server_.peers.SendAllAway(Farewell(), [this] {
    gone_ = true;
    Check();
  });
}

// The text that workers show to their users.
std::string JobEnding::Farewell() const {
  const std::string after =
      fmt::format("after {} of {}", server_.record.steps(), Counted(server_.options.steps, "step"));
  if (status_.ok()) return "the job is done, " + after;
  if (status_.code() == StatusCode::kCancelled) return "the job was stopped " + after;
  return fmt::format("the job failed {}: {}", after, status_.ToString());
}

// The status of a job that diverged or lost its parameters must say what is left of it.
Status JobEnding::Outcome() const {
  const Checkpointer* checkpointer = server_.updater.checkpointer();
  if (checkpointer == nullptr || !(server_.model->spoiled() || lost_)) return status_;
  const uint64_t step = checkpointer->safe_step();
  const std::string left =
      step == 0 ? "no checkpoint was written before"
                : fmt::format(
                      "the checkpoint of step {} is safe: `resume` goes on from there, "
                      "with `resume_step` from an older one",
                      step);
  return Status(status_.code(), fmt::format("{}; {}", status_.ToString(), left));
}

JobResult JobEnding::TakeResult() {
  JobResult result = server_.record.Take();
  result.status = Outcome();
  const ParameterCopy& best = server_.validator->best();
  result.parameters = best ? best : server_.model->parameters();
  result.validation = server_.validator->Summary();
  result.stopped_early = why_stopped_;
  server_.updater.AddTo(result);
  result.audit = server_.audits.Record();
  result.scheduler = server_.pump.Stats();
  if (const Checkpointer* checkpointer = server_.updater.checkpointer()) {
    result.checkpoint_step = checkpointer->safe_step();
    result.checkpoints = checkpointer->written();
    result.checkpoint_failures = checkpointer->failures();
    result.checkpoint_status = checkpointer->last_failure();
    result.checkpoint_weakness = checkpointer->weakness();
  }
  return result;
}

}  // namespace motley
