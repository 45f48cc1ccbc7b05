// SPDX-License-Identifier: Apache-2.0
// Runs a step policy against costs only, on virtual time, without gradients or sockets. The planner
// uses it to predict step times. Pure, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// The truth about a worker in this step. The policy does not know it.
struct ModelWorker {
  double slowdown = 1;  // Its partitions take this many times as long as predicted.
  double dies_at = std::numeric_limits<double>::infinity();  // Seconds; 0: dead from the start.
};

struct StepModelOptions {
  std::vector<ModelWorker> truth;  // One per worker; empty: predictions are true.
  // Flags of workers that are still busy with the step before; empty: none. `late_shares` is the
  // part of the late workers' parameters that delays the parameters of others on the server's link.
  std::vector<bool> late;
  double late_shares = 0;
  double jitter = 0;          // Relative standard deviation of one partition's time.
  double notice_seconds = 0;  // From a death until the policy is notified.
  uint64_t seed = 0;
  bool record = false;  // Fill StepOutcome::spans.
};

// One activity of a worker between two times.
struct StepSpan {
  enum class Kind : uint8_t { kCompute, kSend };
  WorkerId worker = 0;
  Kind kind = Kind::kCompute;
  double from = 0, to = 0;
  PartitionId partition = 0;  // Only for kCompute.
};

// A worker's first vector, as known when the step ends.
struct StepAnswer {
  double waited = -1;  // Seconds besides computing; below 0: it did not arrive in time.
  double computed = 0;
};

struct StepOutcome {
  // Seconds until enough had arrived; infinity: never.
  double seconds = std::numeric_limits<double>::infinity();
  uint64_t vectors = 0;       // Vectors that were sent whole, needed or not.
  uint32_t most_vectors = 0;  // The most vectors of one worker.
  uint32_t workers = 0;       // Workers that had something to compute.
  double partitions = 0;      // Partitions that were computed, whole or in part, needed or not.
  uint64_t controls = 0;      // Control messages, both ways.
  double link_seconds = 0;    // How long vectors occupied the server's link until the end.
  uint64_t events = 0;        // Includes the begin and end of blocks, although these do nothing.
  std::vector<StepSpan> spans;
  std::vector<StepAnswer> answers;  // By worker.
  std::vector<bool> late;           // By worker: it had work, but nothing had arrived at the end.
};

// Runs one step. A worker computes from the moment at which it has the parameters: start_seconds
// after its first message. Workers that get work at the beginning also wait until the parameters of
// all of them have passed the server's link. Control messages take the worker's latency.
//
// A vector occupies the worker's link for send_seconds + message_seconds and, one latency later,
// the server's for message_seconds, each times vector_fraction(). Vectors that are sent at the same
// time share the server's link evenly, as connections do. If a policy wants no progress, all work
// of a worker is one event, unless spans are recorded.
StepOutcome RunStepModel(const StepSetting& setting, StepPolicy& policy,
                         const StepModelOptions& options);

}  // namespace motley
