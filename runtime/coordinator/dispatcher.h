// SPDX-License-Identifier: Apache-2.0
// Carries out the scheduler's commands about work: opens updates, gives workers data, orders and
// the parameters for them, and takes orders back. Loop thread only.
#pragma once

#include <memory>
#include <vector>

#include "runtime/coordinator/server_context.h"
#include "scheduler/scheduler.h"

namespace motley {

class Dispatcher {
 public:
  explicit Dispatcher(ServerContext& server);

  // Commands to a worker that is not connected do nothing.
  void Do(const OpenStep& command);
  void Do(const OpenLeases& command);
  void Do(const PlacePartitions& command);
  void Do(const AssignRow& command);
  void Do(const CancelWork& command);
  void Do(const CancelRow& command);
  void Do(const ExtendLease& command);
  void Do(const RevokeLease& command);
  void Do(const SendLease& command);

  // Sends the cancels that were held for an audit, unless it still needs the copies.
  void SendHeldCancels();
  void Forget(WorkerId worker);  // The worker is gone.

 private:
  struct WorkersCancel {  // A cancel to send to a worker.
    WorkerId worker;
    wire::CancelT cancel;
  };

  bool Open(const Update& update, std::shared_ptr<const CodeForm> form);
  void Publish(Session& session);
  bool FreeVersion();
  bool MustHold(const WorkersCancel& cancel) const;
  void Send(const WorkersCancel& cancel);
  template <typename Message>
  void Send(const Session& to, StepId step, const Message& message);

  ServerContext& server_;
  std::vector<WorkersCancel> held_;  // Cancels held until an audit has the copies that it needs.
};

}  // namespace motley
