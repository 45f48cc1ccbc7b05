// SPDX-License-Identifier: Apache-2.0
// Runs the server of one job on a loop, together with the workers that it starts itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/loop/job_control.h"
#include "api/request/fault_script.h"
#include "api/stop_switch.h"
#include "api/workers/local_workers.h"
#include "base/status.h"
#include "data/data_source.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/observer_fan.h"
#include "runtime/uv_loop.h"

namespace motley {

class ServerRun {
 public:
  // Starts workers that connect to `address`; empty: they come from elsewhere.
  using StartWorkers = std::function<Result<std::unique_ptr<LocalWorkers>>(
      const std::string& address, LocalWorkers::Exited exited)>;

  // All references are borrowed.
  // Tells the user what happened to workers of this machine.
  using Tell = std::function<void(const std::string& text)>;
  // What other threads ask of the run.
  struct Steering {
    StopSwitch& stop;
    JobControl& control;
  };
  ServerRun(UvLoop& loop, std::vector<Fault> faults, JobObserver& observer, Tell tell,
            const Steering& steering);
  ~ServerRun();  // The loop is not running.

  // Everything that can be refused without a worker. `env` is on the loop, and its transport
  // listens at `address`; `job` is complete.
  Status Open(const Env& env, const JobOptions& job, const DataSource& data,
              const std::string& address);

  // Starts the workers, trains, and returns when those that it started are gone. With
  // `others_come` the job may begin and go on without them. Thrown once, the
  // switch ends the job early (result.status is kCancelled); thrown twice, no worker is waited for.
  // Once only.
  Result<JobResult> Run(const StartWorkers& start, bool others_come);
  // The job has ended with an error because training diverged.
  bool diverged() const { return finished_ && server_->diverged(); }

 private:
  // Who joined, whether training began, and what callbacks said.
  struct Watch final : JobObserver {
    void OnEvent(const JobEvent& event) override;
    void Gone(WorkerId worker, const Status& why);
    // The failure of a trainer, or lack of memory, of a worker that is lost; Ok: none.
    Status Cause() const;
    std::set<WorkerId> joined;
    std::map<WorkerId, Status> lost;  // Why, those that are gone.
    bool started = false;
  };

  void Strike(const Fault& fault);
  void OnExited(WorkerId worker, const Status& how);
  void OnFinished(JobResult result);
  void OnStop();
  void OnOutOfMemory();

  UvLoop& loop_;
  const Steering steering_;
  Watch watch_;
  FaultScript faults_;
  ObserverFan observers_;
  Tell tell_;
  std::string address_;
  std::unique_ptr<ServerNode> server_;
  std::unique_ptr<LocalWorkers> workers_;
  Status failure_;  // Why this end stopped the job.
  bool others_come_ = false;
  bool finished_ = false;
  bool out_of_memory_ = false;
  Status no_order_ = Status::Resource("not enough memory to end the job in order");
  JobResult result_;
};

}  // namespace motley
