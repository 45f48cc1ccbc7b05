// SPDX-License-Identifier: Apache-2.0
#include "api/job/server_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/memory_need.h"

namespace motley {
namespace {

constexpr Duration kGrace = std::chrono::seconds(2);

// A worker failed by itself, and was not lost.
bool IsOwnFailure(const Status& why) {
  return why.code() == StatusCode::kCallback || why.code() == StatusCode::kResource;
}

}  // namespace

// The worker's process and its connection both say why it is gone, in either order.
void ServerRun::Watch::Gone(WorkerId worker, const Status& why) {
  const auto [known, added] = lost.emplace(worker, why);
  if (!added && !IsOwnFailure(known->second)) known->second = why;
}

Status ServerRun::Watch::Cause() const {
  const auto found = std::find_if(lost.begin(), lost.end(),
                                  [](const auto& each) { return IsOwnFailure(each.second); });
  return found != lost.end() ? found->second : Status::Ok();
}

void ServerRun::Watch::OnEvent(const JobEvent& event) {
  if (const auto* came = std::get_if<event::WorkerJoined>(&event)) {
    joined.insert(came->worker);
    lost.erase(came->worker);
  }
  if (std::holds_alternative<event::StepOpened>(event)) started = true;
  if (const auto* gone = std::get_if<event::WorkerLost>(&event)) Gone(gone->worker, gone->why);
}

ServerRun::ServerRun(UvLoop& loop, std::vector<Fault> faults, JobObserver& observer, Tell tell,
                     const Steering& steering)
    : loop_(loop),
      steering_(steering),
      faults_(std::move(faults), [this](const Fault& fault) { Strike(fault); }),
      tell_(std::move(tell)) {
  observers_.Tell({&watch_, &observer, &faults_});
}

ServerRun::~ServerRun() {
  loop_.SetOutOfMemory(nullptr);
  steering_.control.Leave();
  steering_.stop.Listen(nullptr);
  workers_.reset();
  server_.reset();
}

Status ServerRun::Open(const Env& env, const JobOptions& job, const DataSource& data,
                       const std::string& address) {
  MOTLEY_ASSIGN_OR_RETURN(server_, ServerNode::Create(env, job, data, &observers_));
  address_ = address;
  return Status::Ok();
}

// What was under way when memory ran out is lost, but not what was trained: the job ends in good
// order, with its last checkpoint. If memory runs out in that as well, there is no more to be done.
void ServerRun::OnOutOfMemory() {
  if (std::exchange(out_of_memory_, true) || finished_) {
    // Moved, because a copy takes memory.
    if (!finished_ && result_.status.ok()) result_.status = std::move(no_order_);
    return loop_.Stop();
  }
  server_->Fail(NoMemory("what the server was doing"));
}

Result<JobResult> ServerRun::Run(const StartWorkers& start, bool others_come) {
  others_come_ = others_come;
  loop_.SetOutOfMemory([this] { OnOutOfMemory(); });
  steering_.stop.Listen([this] { OnStop(); });
  if (start) {
    MOTLEY_ASSIGN_OR_RETURN(workers_, start(address_, [this](WorkerId worker, const Status& how) {
                              OnExited(worker, how);
                            }));
  }
  const auto follow = [this] {
    if (!finished_) server_->Follow(steering_.control.guidance());
  };
  steering_.control.Attach(loop_, follow);
  follow();
  server_->Start([this](JobResult result) { OnFinished(std::move(result)); });
  if (steering_.stop.thrown() > 0) OnStop();
  loop_.Run();
  return std::move(result_);
}

void ServerRun::Strike(const Fault& fault) {
  tell_(fmt::format("fault: {}", FormatFault(fault)));
  if (workers_ != nullptr) workers_->Strike(fault);
}

void ServerRun::OnExited(WorkerId worker, const Status& how) {
  watch_.Gone(worker, how);
  // Once training began the server itself misses them; before, it would wait for others to come.
  // After a stop they leave because it said goodbye.
  if (finished_ || steering_.stop.thrown() > 0) return;
  if (others_come_) {
    // Among the others it has whatever number was free; the server misses it by that.
    if (!watch_.started) tell_("the worker of this machine: " + how.ToString());
    return;
  }
  if (watch_.started) return server_->DoNotExpect(worker);
  if (workers_->running() == 0) {
    tell_(how.ToString() + " before training began");
    const auto said = watch_.lost.find(worker);
    failure_ = Status::Unavailable(
        fmt::format("no worker is left to start with: {}",
                    said == watch_.lost.end() ? how.ToString() : said->second.ToString()));
    return server_->Stop(failure_.message());
  }
  tell_(fmt::format("{}, before {}; starting without it", how.ToString(),
                    watch_.joined.contains(worker) ? "training began" : "it joined"));
  server_->DoNotExpect(worker);
}

void ServerRun::OnFinished(JobResult result) {
  finished_ = true;
  result_ = std::move(result);
  if (!failure_.ok()) result_.status = failure_;
  // That no worker is left follows from what befell the last ones.
  const Status cause = watch_.Cause();
  if (result_.status.code() == StatusCode::kUnavailable && !cause.ok()) result_.status = cause;
  if (workers_ == nullptr) return loop_.Stop();
  workers_->Shutdown(steering_.stop.thrown() > 1 ? Duration::zero() : kGrace,
                     [this] { loop_.Stop(); });
}

void ServerRun::OnStop() {
  // However often it is asked for: the job's own end takes seconds at most, and its results stay.
  if (!finished_) return server_->Stop("stopped");
  // Only the workers' farewell is left.
  if (workers_ == nullptr) return loop_.Stop();
  workers_->Shutdown(Duration::zero(), [this] { loop_.Stop(); });
}

}  // namespace motley
