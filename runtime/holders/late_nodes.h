// SPDX-License-Identifier: Apache-2.0
// Finds nodes that hold up the update of their shards. A node that does so longer than nodes
// usually do is asked if it is there. If it does not answer either, it is late. Sums and updates
// take less time than the reading of new values, and are judged by their own times. Owners that
// report a step for an audit are asked each second, because an update may wait for the audit. Loop
// thread only.
#pragma once

#include <functional>
#include <optional>
#include <set>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "runtime/holders/audit_reader.h"
#include "runtime/holders/shard_placement.h"
#include "runtime/holders/shard_update.h"
#include "runtime/holders/slow_nodes.h"

namespace motley {

class LateNodes {
 public:
  // All are borrowed.
  LateNodes(Loop& loop, ShardPlacement& placement, const ShardUpdate& update,
            const AuditReader& audit, std::function<void(WorkerId)> late)
      : loop_(loop),
        placement_(placement),
        update_(update),
        audit_(audit),
        late_(std::move(late)) {}
  ~LateNodes() { Rest(); }

  void Restart(bool again);  // An update starts.
  void Watch();              // The nodes that the update waits for have changed.
  void Lost(WorkerId worker);
  // A node that answers, and still holds up one update after the other.
  std::optional<WorkerId> TakeSlow() { return slow_.Take(); }

 private:
  enum class For : uint8_t { kUpdate, kReading, kAudit };
  struct Wait {
    For what = For::kUpdate;
    std::set<WorkerId> nodes;  // Empty: nothing is awaited.
  };

  void Rest();
  Wait Awaited() const;
  void Learn(Duration took, int tenths_kept);
  Duration ExtraTime() const;
  void OnSlow();
  void OnSilent();

  Loop& loop_;
  ShardPlacement& placement_;
  const ShardUpdate& update_;
  const AuditReader& audit_;
  const std::function<void(WorkerId)> late_;
  TimerId timer_ = 0;
  For waits_for_ = For::kUpdate;  // What the timer runs for.
  Time awaited_since_{};
  struct {
    Duration update{};     // What the last nodes of an update usually take,
    Duration reading{};    // and the last ones that read.
    uint32_t updates = 0;  // That started.
  } usual_;
  std::set<WorkerId> asked_;  // Nodes that were asked if they are there.
  Time silent_until_{};       // They need not answer before.
  SlowNodes slow_;
};

}  // namespace motley
