// SPDX-License-Identifier: Apache-2.0
// Runs the server of one job on a loop, together with the workers that it starts itself.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

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

  // All references are borrowed. `env` is on `loop`.
  ServerRun(UvLoop& loop, Env env, std::vector<Fault> faults, JobObserver& observer,
            StopSwitch& stop);
  ~ServerRun();  // The loop is not running.

  // Everything that can be refused without a worker. `job` is complete; the transport listens at
  // `address`.
  Status Open(const JobOptions& job, const DataSource& data, const std::string& address);

  // Starts the workers, trains, and returns when those that it started are gone. With
  // `others_come` the job may begin and go on without them. Thrown once, the
  // switch ends the job early (result.status is kCancelled); thrown twice, no worker is waited for.
  // Once only.
  Result<JobResult> Run(const StartWorkers& start, bool others_come);

 private:
  // Who joined, whether training began, and what callbacks said.
  struct Watch final : JobObserver {
    void OnWorkerJoined(WorkerId worker, const std::string&) override { joined.insert(worker); }
    void OnWorkerLost(WorkerId worker, const Status& why) override {
      Note(why);
      lost[worker] = why;
    }
    void OnStepOpened(StepId, const CodeForm&, Time) override { started = true; }
    void Note(const Status& why);
    std::set<WorkerId> joined;
    std::map<WorkerId, Status> lost;  // Why, those that said it.
    bool started = false;
    Status callback;  // The first that failed.
  };

  void Strike(const Fault& fault);
  void OnExited(WorkerId worker, const Status& how);
  void OnFinished(JobResult result);
  void OnStop();
  void OnOutOfMemory();

  UvLoop& loop_;
  Env env_;
  StopSwitch& stop_;
  Watch watch_;
  FaultScript faults_;
  ObserverFan<Watch, JobObserver, FaultScript> observers_;
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
