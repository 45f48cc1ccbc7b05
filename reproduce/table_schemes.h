// SPDX-License-Identifier: Apache-2.0
// The schemes of the comparison on one cluster (S3.8), each as the time that a step takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "reproduce/experiment.h"
#include "reproduce/fault_cases.h"

namespace motley {

struct TableScheme {
  std::string name;
  uint32_t copies = 1;
  // The step on workers that truly need so many seconds per unit of work (infinite: dead from the
  // start); infinite when it never ends. Called from several threads at once.
  std::function<double(const std::vector<double>& seconds, Random& random)> step;
};

struct TableSchemeOptions {
  uint32_t copies = 2;
  uint32_t partitions = 240;
  double link = 0;             // For which every vector occupies the server's link.
  bool dies_any_time = false;  // Not from the start, but within the first unit of time.
  uint64_t seed = 0;           // Of codes that draw coefficients.
};
// A step scheme by name (planner/step_schemes.h) on the cost-only step model: the predicted
// speeds are those of TableSpeeds, every message takes 0.01 one way, and a death is heard of after
// 0.02.
Result<TableScheme> MakeTableScheme(const std::string& name, const TableSchemeOptions& options);

double MeanOf(const std::vector<double>& values);
// A step's mean time over the noise for each place of the fault; `runs`: of MeansOfRuns, for all
// places together.
std::vector<double> MeanTimes(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                              const TableScheme& scheme, const FaultCase& fault);

}  // namespace motley
