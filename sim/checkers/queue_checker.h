// SPDX-License-Identifier: Apache-2.0
// I8: what waits to be sent to one peer stays within what the nodes promise.
#pragma once

#include <cstddef>
#include <string>

#include "data/dataset.h"
#include "runtime/job.h"
#include "sim/checkers/violations.h"

namespace motley {

// Bytes per peer. A server queues the data that the peer lacks, within a window, and one version of
// the parameters; a worker the two answers that it keeps buffers for. Either has a few control
// messages besides.
struct QueueLimits {
  size_t server = 0;
  size_t worker = 0;
};
QueueLimits LimitQueues(const JobOptions& job, const Dataset& data, size_t vector_length);

void CheckQueue(size_t limit, const std::string& who, size_t most_queued, Violations& violations);

}  // namespace motley
