// SPDX-License-Identifier: Apache-2.0
#include "sim/reproduce/equal_workers.h"

#include <utility>

#include "scheduler/load_balance.h"
#include "scheduler/step/adaptive_step.h"

namespace motley {

Result<EqualWorkersStep> EqualWorkersStep::Make(const EqualWorkers& of) {
  EqualWorkersStep step(of);
  StepWorker worker;
  worker.seconds_per_partition = of.task_seconds / of.pieces;
  worker.latency_seconds = of.latency_seconds;
  step.setting_.workers.assign(of.workers, worker);
  ShareRequest request;
  request.partitions = of.workers * of.pieces;
  request.copies = of.copies;
  request.workers.assign(of.workers,
                         {.curve = {.seconds_per_sample = worker.seconds_per_partition}});
  MOTLEY_ASSIGN_OR_RETURN(Placement placement, PlaceBalanced(request));
  step.setting_.holders = std::move(placement.holders);
  return step;
}

StepOutcome EqualWorkersStep::Run(const std::vector<double>& task_seconds) const {
  StepModelOptions model;
  model.truth.resize(of_.workers);
  for (size_t i = 0; i < of_.workers; ++i) {
    model.truth[i].slowdown = task_seconds[i] / of_.task_seconds;
  }
  AdaptiveStep policy(setting_);
  return RunStepModel(setting_, policy, model);
}

}  // namespace motley
