// SPDX-License-Identifier: Apache-2.0
// What belongs to one update of a job, from its opening until it is applied.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "scheduler/refusals.h"
#include "scheduler/sync/batch_parts.h"

namespace motley {

struct UpdateState {
  enum class Phase : uint8_t {
    kNone,     // It was applied, or there never was one.
    kWaiting,  // It was interrupted, or just taken up. It begins as soon as workers are there.
    kOpen,     // It waits for answers.
    kEnough    // It has enough answers, and waits to be applied.
  };

  StepId id = 0;
  uint64_t base_version = 0;      // The version of the parameters that it starts from.
  std::optional<BatchPart> part;  // None: it has all of its batch.
  Phase phase = Phase::kNone;
  // How often it began again because a late row could not go to another worker.
  uint32_t begun_again = 0;
  Refusals refusals;  // Answers to it that were refused.

  bool begun() const { return phase != Phase::kNone; }
  bool waiting() const { return phase == Phase::kWaiting; }
  bool open() const { return phase == Phase::kOpen; }
  bool enough() const { return phase == Phase::kEnough; }
};

}  // namespace motley
