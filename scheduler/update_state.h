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
  StepId id = 0;
  uint64_t base_version = 0;      // The version of the parameters that it starts from.
  std::optional<BatchPart> part;  // None: it has all of its batch.
  bool begun = false;             // It was opened, and is not applied yet.
  bool open = false;              // It waits for answers.
  bool enough = false;            // It has enough answers, and waits to be applied.
  // How often it began again because a late row could not go to another worker.
  uint32_t begun_again = 0;
  Refusals refusals;  // Answers to it that were refused.

  // It begins again as soon as workers are there.
  bool interrupted() const { return begun && !open && !enough; }
};

}  // namespace motley
