// SPDX-License-Identifier: Apache-2.0
// What a step would cost: a step policy run against costs only, on virtual time. No gradients, no
// sockets; the planner asks it which scheme a cluster should use. Pure, any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// What is true of a worker in this step, which the policy does not know.
struct ModelWorker {
  double slowdown = 1;  // Its partitions take so many times what was predicted.
  double dies_at = std::numeric_limits<double>::infinity();  // Seconds; 0: dead from the start.
};

struct StepModelOptions {
  std::vector<ModelWorker> truth;  // One per worker, or empty: as predicted.
  // Workers still busy with the step before, or empty. This part of the parameters of others has to
  // share the server's link with theirs; the rest is under way before they are asked for.
  std::vector<bool> late;
  double late_shares = 0;
  double jitter = 0;          // Relative standard deviation of one partition's time.
  double notice_seconds = 0;  // From a death until the policy hears of it.
  uint64_t seed = 0;
  bool record = false;  // Fill StepOutcome::spans.
};

// What a worker did between two times.
struct StepSpan {
  enum class Kind : uint8_t { kCompute, kSend };
  WorkerId worker = 0;
  Kind kind = Kind::kCompute;
  double from = 0, to = 0;
  PartitionId partition = 0;  // Of kCompute.
};

// What is known of a worker's first vector when the step ends.
struct StepAnswer {
  double waited = -1;  // Seconds that it took besides computing; below 0: it did not come in time.
  double computed = 0;
};

struct StepOutcome {
  double seconds = std::numeric_limits<double>::infinity();  // Until enough had arrived; or never.
  uint64_t vectors = 0;                                      // That were sent whole, needed or not.
  uint32_t most_vectors = 0;                                 // Of one worker.
  uint32_t workers = 0;                                      // That had something to compute.
  uint64_t partitions = 0;                                   // That were computed, needed or not.
  uint64_t controls = 0;                                     // Control messages, both ways.
  double link_seconds = 0;  // For which vectors occupied the server's link until the end.
  uint64_t events = 0;      // A block's beginning and end count, too, though nothing happens then.
  std::vector<StepSpan> spans;
  std::vector<StepAnswer> answers;  // By worker.
  std::vector<bool> late;           // Had something to do, of which nothing had come by then.
};

// A worker computes from when it has the parameters on: start_seconds after the first word to it,
// and those that are told at the beginning not before the parameters of them all have passed the
// server's link. Control messages take the worker's latency. A vector takes its own link for
// send_seconds + message_seconds and, the latency later, has the server's for message_seconds, each
// times vector_fraction(); who sends at the same time shares that one evenly, as connections do. Of
// policies that want no progress, what a worker has is one event, however many partitions it is
// (unless spans are recorded).
StepOutcome RunStepModel(const StepSetting& setting, StepPolicy& policy,
                         const StepModelOptions& options);

}  // namespace motley
