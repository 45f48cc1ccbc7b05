// SPDX-License-Identifier: Apache-2.0
// Judges a series of losses: whether training makes progress, when a plateau schedule lowers the
// rate, and when to stop. Pure: a function of the losses alone.
#pragma once

#include <cstdint>

#include "training/optimizers/rate_schedule.h"

namespace motley {

struct JudgeOptions {
  uint32_t patience = 0;  // Judgements without progress before training stops; 0: it never does.
  // Progress is a loss below the best one by this fraction of the first one.
  double tolerance = 1e-4;
};

// The whole state of a LossJudge, for checkpoints.
struct JudgeState {
  uint64_t seen = 0;  // Number of losses.
  double first = 0;   // First finite loss.
  double best = 0;
  uint64_t best_version = 0;  // Version of the parameters with the best loss; 0: none was finite.
  uint32_t idle = 0;  // Judgements in a row without progress since the last reduction of the rate.
  uint32_t lowered = 0;
  bool waiting = false;   // A loss has not been judged yet.
  bool progress = false;  // That loss was progress.
};

class LossJudge {
 public:
  LossJudge(const JudgeOptions& options, const RateSchedule& schedule,
            const JudgeState& before = {});

  // Takes the loss of version `version`, which is above 0. Returns true if it is the best so far. A
  // loss that is not finite is never progress.
  bool Hear(uint64_t version, double loss);
  // Like Hear, but the loss is not judged for progress.
  bool Compare(uint64_t version, double loss);
  // Judges the last loss, unless that was done already. Returns true if training should stop.
  bool Conclude();

  // Factor for the learning rate.
  double rate_factor() const;
  const JudgeState& state() const { return state_; }

 private:
  JudgeOptions options_;
  RateSchedule schedule_;
  JudgeState state_;
};

}  // namespace motley
