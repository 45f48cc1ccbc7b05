// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "scheduler/load_balance.h"
#include "scheduler/step/adaptive_step.h"
#include "scheduler/step_model.h"
#include "sim/reproduce/table_schemes.h"

namespace motley {
namespace {

constexpr uint32_t kPartitions = 480;
constexpr double kLatency = 0.01;  // One way: half of the round trip of 0.02.
constexpr double kNotice = 0.02;   // From a death until the server hears of it.

Result<StepSetting> Setting(uint32_t copies, double link) {
  ShareRequest request;
  request.partitions = kPartitions;
  request.copies = copies;
  StepSetting setting;
  for (const double all : SecondsOfAll()) {
    StepWorker worker;
    worker.seconds_per_partition = all / kPartitions;
    worker.latency_seconds = kLatency;
    worker.message_seconds = link;
    setting.workers.push_back(worker);
    request.workers.push_back({.curve = {.seconds_per_sample = worker.seconds_per_partition}});
  }
  MOTLEY_ASSIGN_OR_RETURN(Placement placement, PlaceBalanced(request));
  setting.holders = std::move(placement.holders);
  return setting;
}

}  // namespace

Result<TableScheme> AdaptiveScheme(const AdaptiveOptions& options) {
  MOTLEY_ASSIGN_OR_RETURN(const StepSetting setting, Setting(options.copies, options.link));
  TableScheme scheme;
  scheme.name = "adaptive";
  scheme.copies = options.copies;
  scheme.step = [setting, options](const std::vector<double>& seconds, Random& random) {
    const std::vector<double> predicted = SecondsOfAll();
    StepModelOptions model;
    model.notice_seconds = kNotice;
    model.truth.resize(predicted.size());
    for (size_t i = 0; i < predicted.size(); ++i) {
      if (std::isfinite(seconds[i])) {
        model.truth[i].slowdown = seconds[i] / predicted[i];
      } else {
        model.truth[i].dies_at = options.dies_any_time ? random.NextDouble() : 0;
      }
    }
    model.seed = random.Next64();
    AdaptiveStep policy(setting);
    return RunStepModel(setting, policy, model).seconds;
  };
  return scheme;
}

}  // namespace motley
