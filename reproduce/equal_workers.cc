// SPDX-License-Identifier: Apache-2.0
#include "reproduce/equal_workers.h"

#include <utility>

namespace motley {

EqualWorkersStep::EqualWorkersStep(const EqualWorkers& of, StepScheme scheme)
    : of_(of), scheme_(std::move(scheme)) {}

Result<EqualWorkersStep> EqualWorkersStep::Make(const EqualWorkers& of) {
  StepWorker worker;
  worker.seconds_per_partition = of.task_seconds / of.pieces;
  worker.latency_seconds = of.latency_seconds;
  SchemeRequest request;
  request.workers.assign(of.workers, worker);
  request.partitions = of.workers * of.pieces;
  request.copies = of.copies;
  MOTLEY_ASSIGN_OR_RETURN(StepScheme scheme, MakeStepScheme("adaptive", request));
  return EqualWorkersStep(of, std::move(scheme));
}

StepOutcome EqualWorkersStep::Run(const std::vector<double>& task_seconds) const {
  StepModelOptions model;
  model.truth.resize(of_.workers);
  for (size_t i = 0; i < of_.workers; ++i) {
    model.truth[i].slowdown = task_seconds[i] / of_.task_seconds;
  }
  const auto policy = scheme_.policy();
  return RunStepModel(*scheme_.setting, *policy, model);
}

}  // namespace motley
