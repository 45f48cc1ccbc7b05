// SPDX-License-Identifier: Apache-2.0
// Chooses learning options that the user left open, from the model and the data.
#pragma once

#include <string>
#include <string_view>

#include "api/request/job_request.h"
#include "base/status.h"
#include "data/data_source.h"

namespace motley {

// The settings by which a job judges its progress.
struct JudgingPlan {
  double validation = 0;  // Fraction of the training samples that is held out; 0: none.
  uint64_t every = 0;     // Steps between two judgements; 0: see every_epochs.
  uint32_t every_epochs = 0;
  uint32_t patience = 0;
};

// Fills in the optimizer, rate, L2 weight, batch, epochs and schedule that `request` leaves open
// for a built-in model and its training samples, and says how the job judges its progress. A job
// whose steps or epochs are given does exactly these, and is judged only on request. `raw_target`:
// labels are real numbers that were not scaled. Adam's steps have a fixed size, so a linear model
// then learns by sgd. kInvalidArgument: `evaluate_every` is not a number of steps or epochs.
Result<JudgingPlan> ChooseDefaults(std::string_view model, const DataShape& samples,
                                   JobRequest& request, bool raw_target = false);
// The same for a caller's trainer, whose model is unknown. Nothing is held out, and the optimizer,
// batch and epochs are those of JobRequest. kInvalidArgument also for options that only apply to
// built-in models: `validation`, `class_weights`, `dropout`.
Result<JudgingPlan> JudgingOfTrainer(const JobRequest& request);

// Describes for users how the job will learn.
std::string DescribeLearning(const JobRequest& request, const JudgingPlan& plan, uint64_t held_out);

// "200" steps, "1epoch", "5epochs".
struct StepInterval {
  uint64_t steps = 0;
  uint32_t epochs = 0;  // Used if `steps` is 0.
};
Result<StepInterval> ParseInterval(std::string_view text);

}  // namespace motley
