// SPDX-License-Identifier: Apache-2.0
// Reads what an audit needs of a step from the nodes that own the shards: the parameters that the
// step started from, and what each owner logged of the answers. Each owner logs the slices that it
// gets with signs of its own, in every step. So no worker knows the signs with which other nodes
// look at its answers, and none knows which steps are audited before its answer has counted. Loop
// thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "base/ids.h"
#include "base/status.h"
#include "runtime/audit/auditor.h"
#include "runtime/holders/shard_placement.h"
#include "runtime/holders/shard_reader.h"
#include "transport/wire/control.h"

namespace motley {

// The seed of the signs with which `node` logs an attempt at a step. Nodes cannot compute the job's
// `secret` from the seeds that they get. Never 0.
uint64_t SignsOfNode(uint64_t secret, StepId step, uint32_t attempt, WorkerId node);

class AuditReader {
 public:
  using Reported = std::function<void(Result<Auditor::Reported>)>;

  // `placement` is borrowed. Nodes from `workers` on are shard servers.
  AuditReader(ShardPlacement& placement, uint64_t secret, uint32_t workers)
      : placement_(placement),
        secret_(secret),
        workers_(workers),
        values_(placement, ShardReader::Ids::kEven) {}

  // Asks all owners, before they apply the update of the open step. `version` is the one that it
  // starts from. One step at a time.
  void Read(StepId step, uint32_t attempt, uint64_t version, Reported reported);
  bool reading() const { return reported_ != nullptr; }
  void GiveUp(const Status& why);
  std::set<WorkerId> Awaited() const;  // The owners, as long as reports are missing.

  ShardReader& values() { return values_; }  // Takes the parameters.
  // kDataError: the report makes no sense.
  Status OnLog(WorkerId worker, const wire::ShardLogT& log);

 private:
  void FinishIfAll();

  ShardPlacement& placement_;
  const uint64_t secret_;
  const uint32_t workers_;
  ShardReader values_;
  Reported reported_;
  Auditor::Reported report_;
  std::set<uint32_t> missing_;  // Shards without a report.
};

}  // namespace motley
