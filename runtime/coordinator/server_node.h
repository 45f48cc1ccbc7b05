// SPDX-License-Identifier: Apache-2.0
// The server of a job: owns the parameters, reports events to the scheduler, carries out its
// commands, decodes gradients as they stream in, and updates. One loop thread owns it all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/parallel.h"
#include "base/status.h"
#include "checkpoint/store/disk.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/job_event.h"
#include "transport/transport.h"

namespace motley {

// The outside world of a node, borrowed for its lifetime. Nothing in runtime/ reaches past it,
// except UvLoop, which implements it.
struct Env {
  Loop& loop;
  Transport& transport;
  Device& device;
  Disk* disk = nullptr;  // The folder for checkpoints; servers that write some need it.
  // The device for a server's audits, so that they delay nobody. It shares the host's memory. Null:
  // audits use `device`, and updates wait for them.
  Device* audit_device = nullptr;
  // The device for a server's evaluations while the job trains. It shares the host's memory. Null:
  // evaluations use `device`, and updates wait for them.
  Device* evaluation_device = nullptr;
  // The device for updates of shards that a worker owns, so that they do not wait for its orders.
  // It shares the host's memory. Null: they use `device`.
  Device* shard_device = nullptr;
};

// Refuses what does not go with updates of each worker's own (options.sync). Create does so, too.
Status CheckOwnUpdates(const JobOptions& options);
// Refuses what does not go with workers' own steps (options.local). Create does so, too.
Status CheckLocalSteps(const JobOptions& options);

// Learning rates of all groups, for one update after another.
struct GroupRates {
  StepId first_step = 0;
  size_t groups = 1;
  std::vector<double> rates;  // Update by update, at least one. Later updates have the last ones.
  std::vector<double> Of(StepId step) const;
};

// What a running job is asked for beside its options.
struct Guidance {
  // The job pauses when it has done this many steps in all, with those of earlier runs.
  uint64_t allowed_steps = UINT64_MAX;
  std::optional<double> learning_rate;  // From the next update on, in place of the option's.
  // Rates of groups, in place of their own; null: their own.
  std::shared_ptr<const GroupRates> group_rates;
  bool finish = false;  // The job ends as if its last step were done.
};

class ServerNode {
 public:
  using Finished = std::function<void(JobResult)>;

  // Options are checked before anything starts. kInvalidArgument says what to change. kConflict:
  // `options.resume` is another job's. kResource: the model does not fit into memory. `data` and
  // `observer` (may be null) are borrowed.
  static Result<std::unique_ptr<ServerNode>> Create(Env env, const JobOptions& options,
                                                    const DataSource& data, JobObserver* observer);
  virtual ~ServerNode() = default;

  // Accepts workers on a transport that already listens. `finished` runs once, when all steps are
  // done or the job cannot go on. The workers then receive a goodbye.
  virtual void Start(Finished finished) = 0;
  // Worker `worker` (its index hint) will not come, or not come again, so the start waits only for
  // the others. It is welcome if it comes anyway. Must not be called before Start.
  virtual void DoNotExpect(WorkerId worker) = 0;
  // Ends the job early with kCancelled; `finished` still runs once.
  virtual void Stop(const std::string& reason) = 0;
  // Ends the job early with another status, because something that it needs has failed.
  virtual void Fail(const Status& why) = 0;
  // Before Start and at any time after it. allowed_steps must not go down.
  virtual void Follow(const Guidance& guidance) = 0;
  // The job has ended with an error because training diverged.
  virtual bool diverged() const = 0;
};

}  // namespace motley
