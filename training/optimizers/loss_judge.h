// SPDX-License-Identifier: Apache-2.0
// Judges a series of losses: whether training still gets anywhere, when the learning rate of a
// plateau schedule is lowered, and when to stop. Pure, and a function of the losses alone.
#pragma once

#include <cstdint>

#include "training/optimizers/rate_schedule.h"

namespace motley {

struct JudgeOptions {
  uint32_t patience = 0;  // Judgements without progress, after which to stop; 0: never.
  // Progress is a loss that is below the best one by this part of the first one.
  double tolerance = 1e-4;
};

// All that it remembers, for checkpoints.
struct JudgeState {
  uint64_t seen = 0;  // Losses.
  double first = 0;   // That was finite.
  double best = 0;
  uint64_t best_version = 0;  // Of the parameters that had it; 0: no loss was finite so far.
  uint32_t idle = 0;          // Judgements without progress in a row, since the rate was lowered.
  uint32_t lowered = 0;
  bool waiting = false;   // A loss was heard that was not judged yet,
  bool progress = false;  // and it was progress.
};

class LossJudge {
 public:
  LossJudge(const JudgeOptions& options, const RateSchedule& schedule,
            const JudgeState& before = {});

  // The loss of version `version`, which is above 0; whether it is the best so far. Anything that
  // is no finite number is no progress.
  bool Hear(uint64_t version, double loss);
  // The same without a judgement: whether training gets anywhere is not asked.
  bool Compare(uint64_t version, double loss);
  // Draws the conclusion from what was heard last; nothing if that was done already. Whether to
  // stop.
  bool Conclude();

  // What the learning rate is to be multiplied by.
  double rate_factor() const;
  const JudgeState& state() const { return state_; }

 private:
  JudgeOptions options_;
  RateSchedule schedule_;
  JudgeState state_;
};

}  // namespace motley
