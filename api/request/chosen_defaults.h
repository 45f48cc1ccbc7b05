// SPDX-License-Identifier: Apache-2.0
// How a job learns where its user says nothing: chosen from the model and the data.
#pragma once

#include <string>
#include <string_view>

#include "api/request/job_request.h"
#include "base/status.h"
#include "data/data_source.h"

namespace motley {

// What belongs together when a job judges its progress.
struct JudgingPlan {
  double validation = 0;  // Part of the training samples that is held out; 0: none.
  uint64_t every = 0;     // Steps; 0: the epoch's.
  uint32_t every_epochs = 0;
  uint32_t patience = 0;
};

// Fills in the optimizer, rate, batch, epochs and schedule that `request` leaves open for a
// built-in model and its training samples, and says how the job judges its progress. With steps or
// epochs given the job does exactly these; it is judged then only where judging was asked for.
// `raw_target`: the labels are numbers that nobody brought to size, and adam's steps have one.
// kInvalidArgument: `evaluate_every` is no number of steps or epochs.
Result<JudgingPlan> ChooseDefaults(std::string_view model, const DataShape& samples,
                                   JobRequest& request, bool raw_target = false);
// The same for a trainer of the caller's, whose model is not known: nothing is held out, and the
// optimizer, batch and epochs are those of JobRequest. kInvalidArgument also for what only a
// built-in model does: `validation`, `class_weights`, `dropout`.
Result<JudgingPlan> JudgingOfTrainer(const JobRequest& request);

// For people: how the job will learn. `every`: steps between two judgements; `held_out`: samples.
std::string DescribeLearning(const JobRequest& request, const JudgingPlan& plan, uint64_t held_out);

// "200" steps, "1epoch", "5epochs".
struct Interval {
  uint64_t steps = 0;
  uint32_t epochs = 0;  // Instead.
};
Result<Interval> ParseInterval(std::string_view text);

}  // namespace motley
