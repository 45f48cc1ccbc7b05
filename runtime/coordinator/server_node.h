// SPDX-License-Identifier: Apache-2.0
// The server of a job: owns the parameters, feeds what happens to the scheduler, carries out its
// commands, decodes gradients as they stream in, and updates. One loop thread owns it all.
#pragma once

#include <functional>
#include <memory>

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

// The outside world of a node, borrowed for its lifetime. Nothing in runtime/ reaches past it
// (UvLoop apart, which implements it).
struct Env {
  Loop& loop;
  Transport& transport;
  Device& device;
  Disk* disk = nullptr;  // Of the folder that checkpoints go to; servers that write some need it.
  // Of servers: for audits, so that they are in nobody's way; it shares the host's memory. Null:
  // `device`, and updates wait for them.
  Device* audit_device = nullptr;
  // Of servers: for evaluations while the job trains; it shares the host's memory. Null: `device`,
  // and updates wait for them.
  Device* evaluation_device = nullptr;
};

class ServerNode {
 public:
  using Finished = std::function<void(JobResult)>;

  // kInvalidArgument for options that cannot work (checked before anything starts), with what to
  // change; kConflict when `options.resume` is another job's; kResource when the model does not fit
  // into memory. `data` and `observer` (may be null) are borrowed.
  static Result<std::unique_ptr<ServerNode>> Create(Env env, const JobOptions& options,
                                                    const DataSource& data, JobObserver* observer);
  virtual ~ServerNode() = default;

  // Accepts workers on a transport that already listens; `finished` runs once, when all steps are
  // done or the job cannot go on. Workers are then told to leave.
  virtual void Start(Finished finished) = 0;
  // Worker `worker` (its index hint) will not come, or not again: the start waits only for the
  // others. One that comes nevertheless is welcome. Not before Start.
  virtual void DoNotExpect(WorkerId worker) = 0;
  // Ends the job early with kCancelled; `finished` still runs once.
  virtual void Stop(const std::string& reason) = 0;
  // The same with another status: something that the job cannot do without has failed.
  virtual void Fail(const Status& why) = 0;
};

}  // namespace motley
