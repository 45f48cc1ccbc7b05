// SPDX-License-Identifier: Apache-2.0
// How a job judges its progress, and what came of it. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/data_source.h"
#include "training/models/evaluate.h"
#include "training/optimizers/loss_judge.h"

namespace motley {

// How a job judges, while it trains, whether it still gets anywhere (validator.h).
struct ValidationOptions {
  uint64_t every = 0;  // Steps between two judgements; 0: none.
  // Judged on; null: the mean loss of the steps themselves is.
  std::shared_ptr<const DataSource> samples;
  // Judgements without progress after which the job ends, and leaves its best version; 0: it does
  // all its steps, and leaves the last one.
  uint32_t patience = 0;
  double tolerance = JudgeOptions().tolerance;
};

// What checkpoints keep of it.
struct ValidationState {
  JudgeState judge;
  double loss_sum = 0, weight_sum = 0;             // Of the steps since the last judgement.
  std::shared_ptr<const std::vector<float>> best;  // Parameters; null: the last are to be left.
};

// One judgement.
struct JudgedVersion {
  uint64_t version = 0;      // Of the parameters.
  double training_loss = 0;  // Mean over the steps since the last one, each before its update.
  std::optional<Evaluation> samples;  // What was found on the validation samples, if there are any.
  bool best = false;                  // So far.
};

// What came of it.
struct ValidationSummary {
  uint64_t evaluations = 0;   // On validation samples, in this run.
  double waited_seconds = 0;  // That steps waited for them, in this run.
  uint64_t best_version = 0;  // 0: none was judged.
  double best_loss = 0;
  bool kept_best = false;  // JobResult::parameters are that version's.
};

}  // namespace motley
