// SPDX-License-Identifier: Apache-2.0
// What belongs to one update of a job while its work is shared. With a barrier one update is open
// at a time; a SyncPolicy that opens several needs one of these for each.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "scheduler/refusals.h"

namespace motley {

struct UpdateState {
  StepId id = 0;
  uint64_t base_version = 0;  // The version of the parameters that it starts from.
  bool open = false;          // It waits for answers.
  Refusals refusals;          // Answers to it that were refused.
};

}  // namespace motley
