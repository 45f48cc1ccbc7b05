// SPDX-License-Identifier: Apache-2.0
#include "reproduce/table_schemes.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "planner/step_model.h"
#include "planner/step_schemes.h"
#include "reproduce/monte_carlo.h"

namespace motley {
namespace {

constexpr double kLatency = 0.01;  // One way: half of the round trip of 0.02.
constexpr double kNotice = 0.02;   // From a death until the server notices.

SchemeRequest Request(const TableSchemeOptions& options) {
  SchemeRequest request;
  request.partitions = options.partitions;
  request.copies = options.copies;
  request.seed = options.seed;
  for (const double all : SecondsOfAll()) {
    StepWorker worker;
    worker.seconds_per_partition = all / options.partitions;
    worker.latency_seconds = kLatency;
    worker.message_seconds = options.link;
    request.workers.push_back(worker);
  }
  return request;
}

}  // namespace

Result<TableScheme> MakeTableScheme(const std::string& name, const TableSchemeOptions& options) {
  MOTLEY_ASSIGN_OR_RETURN(StepScheme made, MakeStepScheme(name, Request(options)));
  TableScheme scheme;
  scheme.name = name;
  scheme.copies = options.copies;
  scheme.step = [made = std::move(made), options](const std::vector<double>& seconds,
                                                  Random& random) {
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
    const auto policy = made.policy();
    return RunStepModel(*made.setting, *policy, model).seconds;
  };
  return scheme;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> MeanTimes(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                              const TableScheme& scheme, const FaultCase& fault) {
  const auto estimates =
      MeansOfRuns(context, stream, runs / fault.places.size(), fault.places.size(),
                  [&](Random& random, std::span<double> figures) {
                    for (size_t i = 0; i < figures.size(); ++i) {
                      figures[i] = scheme.step(DrawSeconds(fault.places[i], random), random);
                    }
                  });
  std::vector<double> means;
  for (const Estimate& estimate : estimates) means.push_back(estimate.mean);
  return means;
}

}  // namespace motley
