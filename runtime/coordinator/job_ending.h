// SPDX-License-Identifier: Apache-2.0
// The end of a job: stops what would go on, waits for what is under way, saves the last checkpoint,
// sends the workers away, and reports the result, in this order. Loop thread only.
#pragma once

#include <string>

#include "runtime/alive.h"
#include "runtime/coordinator/server_context.h"
#include "scheduler/scheduler.h"

namespace motley {

class JobEnding {
 public:
  explicit JobEnding(ServerContext& server) : server_(server) {}

  // `finished` receives the result. The end goes no further before this call.
  void Start(ServerNode::Finished finished);

  // The job ends with this status, unless it has ended. `diverged`: because training diverged.
  void End(Status status, bool diverged = false);
  // Validation stops the job before all steps are done.
  void StopEarly(std::string why);
  // The scheduler ends the job. kDataError: training diverged.
  void Do(const EndJob& command);
  // The open step makes no progress.
  void Stuck();
  bool ended() const { return ended_; }
  bool diverged() const { return diverged_; }
  bool said_goodbye() const { return said_goodbye_; }

  // Takes the next part of the end, if the job has ended and nothing holds the end up. Call it
  // whenever something that the end may wait for is over.
  void Check();

  // A worker left before the end.
  void Left(WorkerId worker, const Status& why);

 private:
  bool Busy() const;
  bool MakeRoom();
  void Lose();
  bool Saved();
  void SayGoodbye();
  std::string Farewell() const;
  Status Outcome() const;
  JobResult TakeResult();

  ServerContext& server_;
  ServerNode::Finished finished_;
  Status status_;
  std::string why_stopped_;    // Why validation stopped the job; empty if it did not.
  std::string last_to_leave_;  // The last worker that left, and why; empty if none did.
  bool diverged_ = false;      // That is why `status_` is an error.
  bool ended_ = false;
  bool lost_ = false;  // The newest version can never come.
  bool said_goodbye_ = false;
  bool gone_ = false;  // All peers are gone.
  Alive alive_;
};

}  // namespace motley
