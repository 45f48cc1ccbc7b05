// SPDX-License-Identifier: Apache-2.0
// Carries out the scheduler's commands: opens updates, and gives workers data, orders and the
// parameters for them, and takes orders back. Loop thread only.
#pragma once

#include <memory>
#include <vector>

#include "runtime/coordinator/job_ending.h"
#include "runtime/coordinator/server_context.h"
#include "runtime/coordinator/updater.h"
#include "scheduler/scheduler.h"

namespace motley {

class Dispatcher {
 public:
  explicit Dispatcher(ServerContext& server);

  // A command of the scheduler. It may wait if workers hold the shards.
  void Execute(const Command& command);
  void CarryOut(const Command& command);

  // Sends the cancels that were held for an audit, unless it still needs the copies.
  void SendHeldCancels();
  void Forget(WorkerId worker);  // The worker is gone.

 private:
  struct WorkersCancel {  // A cancel to send to a worker.
    WorkerId worker;
    wire::CancelT cancel;
  };

  void Do(const OpenStep& command);
  void Do(const OpenLeases& command);
  void Do(const CommitStep& command) { server_.updater.Commit(command); }
  void Do(const Notify& command);
  void Do(const EndJob& command) { server_.end.Do(command); }
  void Do(const PlacePartitions& command, Session& to) {
    to.feed.Place(command.partitions, command.copies);
  }
  void Do(const AssignRow& command, Session& to);
  void Do(const SendRow& command, Session& to);
  void Do(const CancelWork& command, Session& to);
  void Do(const CancelRow& command, Session& to);
  void Do(const ExtendLease& command, Session& to);
  void Do(const RevokeLease& command, Session& to);
  void Do(const SendLease& command, Session& to);
  void Do(const DropWorker& command, Session& to);
  bool Open(const Update& update, std::shared_ptr<const CodeForm> form);
  void Publish(Session& to);
  bool FreeVersion();
  bool MustHold(const WorkersCancel& cancel) const;
  void Send(const WorkersCancel& cancel);

  ServerContext& server_;
  std::vector<WorkersCancel> held_;  // Cancels held until an audit has the copies that it needs.
};

}  // namespace motley
