// SPDX-License-Identifier: Apache-2.0
// Finds a node that is there, and that still holds up one update after the other: when all others
// have done their part, the update waits for it alone, and for much of its time. Such a node had
// better own nothing. Pure: the caller says what time it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/ids.h"
#include "base/time.h"

namespace motley {

class SlowNodes {
 public:
  // What the open update waits for: sums of owners, or then what followers and owners do with them.
  enum class Stage : uint8_t { kSums, kCopies };

  // An update opens, and the one before it is over.
  void Begin(Time now);
  // The open update waits for these nodes now.
  void Awaits(const std::set<WorkerId>& nodes, Stage stage, Time now);
  void Lost(WorkerId worker);
  // A node that has held up several updates in a row. It then counts from the beginning.
  std::optional<WorkerId> Take();

 private:
  void EndAlone(Time now);

  std::optional<Time> began_;  // The open update.
  Stage stage_ = Stage::kSums;
  bool several_ = false;           // This stage waited for others, too.
  std::optional<WorkerId> alone_;  // The only node that is awaited.
  Time since_{};
  std::map<WorkerId, Duration> waits_;  // How long the open update waited for this node alone.
  WorkerId last_ = 0;                   // The node that held up the last updates.
  uint32_t times_ = 0;                  // So many of them in a row.
};

}  // namespace motley
