// SPDX-License-Identifier: Apache-2.0
// Gradient codes over several rounds on recorded times (Krishnan, Ebrahimi, Khisti, ICLR 2023). A
// round ends after (1 + mu) times the fastest worker's time, without later workers, if the code
// tolerates that pattern of stragglers. Otherwise it waits for all workers.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "reproduce/worker_trace.h"

namespace motley {

struct RoundsTaken {
  double seconds = 0;
  uint32_t waits = 0;  // Rounds that waited for all workers.
};

// B, W, lambda as in the paper.
struct BurstModel {
  uint32_t burst = 1;
  uint32_t window = 2;
  uint32_t stragglers = 0;  // lambda: most different stragglers within a window.
};

// The functions below compute `jobs` gradients on the trace's workers, from its first round on.
// kInternal: a job could not be decoded in time, which the rules exclude. kInvalidArgument: the
// trace is shorter than jobs and delay together.

// Every round waits for all workers.
Result<RoundsTaken> RunUncoded(const WorkerTrace& trace, uint32_t jobs);
// Gradient coding that tolerates any s stragglers per round.
Result<RoundsTaken> RunGradientCode(const WorkerTrace& trace, uint32_t jobs, uint32_t s, double mu);
// Gradient coding without the rule: a round ends when n - s workers have answered.
Result<RoundsTaken> RunQuorum(const WorkerTrace& trace, uint32_t jobs, uint32_t s);
// SR-SGC: if more than s answers were missing B rounds ago, workers repeat those tasks.
Result<RoundsTaken> RunSelectiveRepeat(const WorkerTrace& trace, uint32_t jobs,
                                       const BurstModel& model, double mu);
// M-SGC: W - 1 plain mini-tasks, then B coded ones, each in its round.
Result<RoundsTaken> RunMultiplexed(const WorkerTrace& trace, uint32_t jobs, const BurstModel& model,
                                   double mu);

}  // namespace motley
