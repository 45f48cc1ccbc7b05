// SPDX-License-Identifier: Apache-2.0
// Gradient codes over several rounds on recorded times (Krishnan, Ebrahimi, Khisti, ICLR 2023).
// After (1 + mu) times the fastest worker's time a round ends without those that are later, as long
// as the code can bear that pattern of stragglers; otherwise it waits for everybody.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "reproduce/worker_trace.h"

namespace motley {

struct RoundsTaken {
  double seconds = 0;
  uint32_t waits = 0;  // Rounds that waited for everybody.
};

// B, W, lambda as in the paper.
struct BurstModel {
  uint32_t burst = 1;
  uint32_t window = 2;
  uint32_t stragglers = 0;  // lambda: at most so many different ones within a window.
};

// Below: `jobs` gradients of the trace's workers, from its first round on. kInternal when a job
// could not be decoded in time, which the rules exclude; kInvalidArgument when the trace is shorter
// than jobs and delay together.

// Every round waits for everybody.
Result<RoundsTaken> RunUncoded(const WorkerTrace& trace, uint32_t jobs);
// Gradient coding that bears any s stragglers per round.
Result<RoundsTaken> RunGradientCode(const WorkerTrace& trace, uint32_t jobs, uint32_t s, double mu);
// The same without the rule: a round ends when n - s workers have answered.
Result<RoundsTaken> RunQuorum(const WorkerTrace& trace, uint32_t jobs, uint32_t s);
// SR-SGC: workers repeat tasks of B rounds before where more than s were missing.
Result<RoundsTaken> RunSelectiveRepeat(const WorkerTrace& trace, uint32_t jobs,
                                       const BurstModel& model, double mu);
// M-SGC: W - 1 plain mini-tasks, then B coded ones, each in its round.
Result<RoundsTaken> RunMultiplexed(const WorkerTrace& trace, uint32_t jobs, const BurstModel& model,
                                   double mu);

}  // namespace motley
