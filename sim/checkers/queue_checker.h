// SPDX-License-Identifier: Apache-2.0
// I8: the bytes that wait to be sent to one peer stay within the limits that nodes promise.
#pragma once

#include <cstddef>
#include <string>

#include "data/dataset.h"
#include "runtime/job.h"
#include "sim/checkers/violations.h"

namespace motley {

// Bytes per peer. A server queues one version of the parameters and, within a window, data that the
// peer lacks. A worker queues the two answers that it keeps buffers for. Both add a few control
// messages.
struct QueueLimits {
  size_t server = 0;
  size_t worker = 0;
};
QueueLimits LimitQueues(const JobOptions& job, const Dataset& data, size_t vector_length);

void CheckQueue(size_t limit, const std::string& who, size_t most_queued, Violations& violations);

}  // namespace motley
