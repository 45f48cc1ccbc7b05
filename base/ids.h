// SPDX-License-Identifier: Apache-2.0
// The integers that name things. Each has one meaning everywhere.
#pragma once

#include <cstdint>

namespace motley {

using WorkerId = uint32_t;     // Index of a worker in its job, from 0.
using PartitionId = uint32_t;  // Index of a fine partition of the data set, from 0.
using RowId = uint32_t;        // The row of the encoding matrix B that a message answers.
using StepId = uint64_t;  // A training step, from 0; step t turns version t into version t + 1.
using Incarnation = uint64_t;  // Random per process start; messages of an older one are rejected.

// What answers are added up for: one change of the parameters. Update t uses the batch of step t,
// and the gradient at the parameters of `base_version`. With a barrier, update t starts from
// version t, and its result is version t + 1.
struct Update {
  StepId id = 0;
  uint64_t base_version = 0;
};

}  // namespace motley
