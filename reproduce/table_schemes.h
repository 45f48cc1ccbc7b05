// SPDX-License-Identifier: Apache-2.0
// The schemes of the comparison on one cluster (S3.8), each as a function that returns a step's
// time.
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
  // Time of a step on workers that need `seconds` per unit of work (infinite: dead from the start);
  // infinite if the step never ends. Called from several threads at once.
  std::function<double(const std::vector<double>& seconds, Random& random)> step;
};

struct TableSchemeOptions {
  uint32_t copies = 2;
  uint32_t partitions = 240;
  double link = 0;  // How long each vector occupies the server's link.
  // The death may come at any moment of the first unit of time, not only at the start.
  bool dies_any_time = false;
  uint64_t seed = 0;  // Seed of random coefficients.
};
// A step scheme by name (planner/step_schemes.h) on the cost-only step model. The predicted speeds
// are those of TableSpeeds, every message takes 0.01 one way, and a death is noticed after 0.02.
Result<TableScheme> MakeTableScheme(const std::string& name, const TableSchemeOptions& options);

double MeanOf(const std::vector<double>& values);
// Mean time of a step over the noise, for each place of the fault. `runs` (see MeansOfRuns) is for
// all places together.
std::vector<double> MeanTimes(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                              const TableScheme& scheme, const FaultCase& fault);

}  // namespace motley
