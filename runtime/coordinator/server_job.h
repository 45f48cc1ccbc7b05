// SPDX-License-Identifier: Apache-2.0
// The ServerNode: carries out the scheduler's commands with the parts around it, and reports to the
// scheduler what happens. Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/alive.h"
#include "runtime/coordinator/auditor.h"
#include "runtime/coordinator/event_pump.h"
#include "runtime/coordinator/loss_watch.h"
#include "runtime/coordinator/server_inbox.h"
#include "runtime/coordinator/server_model.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/coordinator/server_peers.h"
#include "runtime/coordinator/session.h"
#include "runtime/coordinator/step_watch.h"
#include "runtime/coordinator/validator.h"
#include "runtime/links/vector_probe.h"
#include "runtime/observer_fan.h"
#include "runtime/saving/checkpointer.h"
#include "runtime/saving/job_record.h"
#include "runtime/shard/answers.h"
#include "runtime/shard/remote_updates.h"

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
  void DoNotExpect(WorkerId worker) override;
  void Stop(const std::string& reason) override;
  void Fail(const Status& why) override { End(why); }

 private:
  void Publish(Session& session);
  // Null if the worker is not connected. The scheduler will then soon receive its loss.
  Session* SessionOf(WorkerId worker) { return sessions_[worker].get(); }
  bool FreeVersion();
  void OnAnswer(Event event);  // Takes the outcome of an answer.
  void OnLinkMeasured(WorkerId worker, Duration vector);

  // Membership.
  wire::AcceptT Welcome(WorkerId worker) const;
  void OnJoined(WorkerId worker);
  void OnWorkerLost(WorkerId worker, const Status& why);
  std::string Describe(WorkerId worker) const;  // "worker 2 (name)"
  void Say(const JobNotice& notice) { observer_.OnEvent(event::Noticed{notice}); }

  // The scheduler's commands.
  void Execute(const Command& command);
  void CarryOut(const Command& command);
  bool Open(const Update& update, std::shared_ptr<const CodeForm> form);
  void Do(const OpenStep& command);
  void Do(const PlacePartitions& command);
  void Do(const AssignRow& command);
  void Do(const CancelWork& command);
  void Do(const CancelRow& command);
  void Do(const CommitStep& command);
  void Do(const DropWorker& command);
  void Do(const EndJob& command);
  void Do(const Notify& command);
  void Do(const OpenLeases& command);
  void Do(const ExtendLease& command);
  void Do(const RevokeLease& command);
  void Do(const SendLease& command);
  // The schedule gives the weight of answers, because every sample weighs 1.
  bool CountsAreKnown() const;
  KnownCounts CountsOf(StepId step) const;
  // Closes the step. `approximate` stays null if the sum is exact.
  // The same with shards that workers hold.
  std::unique_ptr<RemoteUpdates> MakeRemote();
  void CommitRemotely(const CommitStep& command);
  void ApplyRemotely(StepId step, const RemoteShards::Sum& sum);
  void SendApply(StepId step, double weight, double squares);
  void ReadSum(std::function<void(const RemoteShards::State&)> then);
  void OnAppliedRemotely(StepId step, double weight);
  bool Fetch(bool state, std::function<void()> then);
  Result<std::shared_ptr<UpdateSum>> SumUp(const CommitStep& command,
                                           std::shared_ptr<const ApproximateSum>& approximate);
  void Apply(StepId step, std::shared_ptr<UpdateSum> sum, double weight,
             std::shared_ptr<const ApproximateSum> approximate);
  void OnApplied(StepId step, double weight, const Status& status);
  void Proceed(StepId step, bool stop);
  void OnAudit(const Auditor::Finding& finding);
  void Warn(AuditWarning warning);
  uint64_t QueuedBytes() const;
  void OnStuck();

  // Judging (server_updates.cc).
  void OnNotJudged(const Status& why);
  void TakeSnapshot(SnapshotDone done);

  std::unique_ptr<Checkpointer> MakeCheckpointer(JobDescription about);
  JobHistory History() const;

  // The end.
  void End(Status status);
  std::string Farewell() const;
  // Takes the next part of the end: saves the last checkpoint, then sends the workers away, then
  // reports.
  void FinishWhenQuiet();
  void SayGoodbye();
  bool Saved();
  Status Outcome() const;

  Env env_;
  JobOptions options_;
  BatchSchedule schedule_;
  DataShape shape_;
  ObserverFan no_observer_;
  JobObserver& observer_;
  uint32_t job_;  // The job's number in every frame.
  std::unique_ptr<ServerModel> model_;
  std::unique_ptr<Validator> validator_;
  std::string why_stopped_;  // Why the job stopped before all steps were done; empty if it did not.
  Auditor auditor_;
  AuditRecord audits_;
  struct WorkersCancel {  // A cancel to send to a worker.
    WorkerId worker;
    wire::CancelT cancel;
  };
  bool Hold(const WorkersCancel& cancel) const;
  void TellOfCancel(const WorkersCancel& cancel);
  void TellOfHeldCancels();
  std::vector<WorkersCancel> held_;  // Cancels held until an audit has the copies that it needs.
  std::unique_ptr<Answers> answers_;
  PartitionBlocks blocks_;
  JobRecord record_;
  LossWatch losses_;
  std::unique_ptr<Checkpointer> checkpointer_;  // Null if no checkpoints are wanted.
  VectorProbe vector_probe_;
  ServerPeers peers_;
  EventPump pump_;
  StepWatch watch_;
  std::vector<std::unique_ptr<Session>> sessions_;  // By worker; null: not connected.
  std::unique_ptr<RemoteUpdates> remote_;           // Null: the shards are here.
  std::unique_ptr<ServerInbox> inbox_;
  std::string last_to_leave_;  // The last worker that left, and why; empty if none did.
  Finished finished_;
  Status end_;
  bool began_ = false;  // A step was opened.
  bool ended_ = false;
  bool said_goodbye_ = false;
  bool gone_ = false;  // All peers are gone.
  Alive alive_;
};

}  // namespace motley
