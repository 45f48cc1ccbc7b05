// SPDX-License-Identifier: Apache-2.0
// How a job judges its progress, and the results. Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/data_source.h"
#include "training/models/evaluate.h"
#include "training/optimizers/loss_judge.h"

namespace motley {

// Options for the judgement, while a job trains, if it still improves (validator.h).
struct ValidationOptions {
  uint64_t every = 0;  // Steps between two judgements; 0: no judgements.
  // Validation samples. If nothing evaluates(), the mean loss of the steps themselves is judged.
  std::shared_ptr<const DataSource> samples;
  bool by_trainer = false;  // Instead of samples: the caller's trainer evaluates versions.
  bool evaluates() const { return samples != nullptr || by_trainer; }
  // The job ends after this many judgements without progress, and leaves its best version. 0: it
  // does all steps and leaves the last version.
  uint32_t patience = 0;
  double tolerance = JudgeOptions().tolerance;
};

// The part of a validator that checkpoints keep.
struct ValidationState {
  JudgeState judge;
  double loss_sum = 0, weight_sum = 0;  // Sums over the steps since the last judgement.
  // Parameters; null: the job leaves the last version.
  std::shared_ptr<const std::vector<float>> best;
};

// One judgement.
struct JudgedVersion {
  uint64_t version = 0;  // Version of the parameters.
  // Mean over the steps since the last judgement, each before its update.
  double training_loss = 0;
  std::optional<Evaluation> samples;  // The result on the validation samples, if there are any.
  bool best = false;                  // The best version so far.
};

// The results of a job's judgements.
struct ValidationSummary {
  uint64_t evaluations = 0;   // Evaluations on validation samples in this run.
  double waited_seconds = 0;  // Time that steps of this run waited for evaluations.
  uint64_t best_version = 0;  // 0: no version was judged.
  double best_loss = 0;
  bool kept_best = false;  // JobResult::parameters are those of best_version.
};

}  // namespace motley
