// SPDX-License-Identifier: Apache-2.0
// The ServerNode: who takes part in the job, what the scheduler hears, and how the parts of the
// server are wired. Loop thread only.
#pragma once

#include <memory>
#include <string>

#include "runtime/coordinator/audit_findings.h"
#include "runtime/coordinator/dispatcher.h"
#include "runtime/coordinator/event_pump.h"
#include "runtime/coordinator/job_ending.h"
#include "runtime/coordinator/server_context.h"
#include "runtime/coordinator/server_inbox.h"
#include "runtime/coordinator/server_peers.h"
#include "runtime/coordinator/step_watch.h"
#include "runtime/coordinator/updater.h"
#include "runtime/shard/answers.h"

namespace motley {

class ServerJob final : public ServerNode {
 public:
  // The parts whose construction can fail.
  struct Parts {
    BatchSchedule schedule;
    std::unique_ptr<ServerModel> model;
    std::unique_ptr<Validator> validator;
    std::unique_ptr<Scheduler> scheduler;
    JobDescription about;  // For checkpoints; empty if there are none.
  };

  ServerJob(Env env, const JobOptions& options, const DataSource& data, JobObserver* observer,
            Parts parts);
  ~ServerJob() override;

  void Start(Finished finished) override;
  void DoNotExpect(WorkerId worker) override { pump_.Raise(WorkerNotComing{worker}); }
  void Stop(const std::string& reason) override { end_.End(Status::Cancelled(reason)); }
  void Fail(const Status& why) override { end_.End(why); }
  void Follow(const Guidance& guidance) override;
  bool diverged() const override { return end_.diverged(); }

 private:
  Answers::Hooks AnswerHooks();
  std::unique_ptr<AwaitedServers> MakeAwaited();
  std::unique_ptr<RemoteUpdates> MakeRemote();
  void SayWhyStar();

  // Membership.
  wire::AcceptT Welcome(WorkerId worker) const;
  void OnJoined(WorkerId worker);
  void OnNodeLost(WorkerId node, const Status& why);
  uint64_t QueuedBytes() const;

  // What the scheduler hears.
  void OnAnswer(Event event);  // Takes the outcome of an answer.
  void OnLinkMeasured(WorkerId worker, Duration vector);

  ServerContext server_;
  std::unique_ptr<RemoteUpdates> unused_remote_;  // Set once the server has kept all shards.
  AuditFindings audits_;
  Answers answers_;
  Dispatcher dispatcher_;
  Updater updater_;
  VectorProbe vector_probe_;
  ServerPeers peers_;
  EventPump pump_;
  StepWatch watch_;
  ServerInbox inbox_;
  JobEnding end_;
};

}  // namespace motley
