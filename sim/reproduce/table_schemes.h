// SPDX-License-Identifier: Apache-2.0
// The schemes of the comparison on one cluster (S3.8), each as the time that a step takes.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "sim/reproduce/experiment.h"
#include "sim/reproduce/fault_cases.h"

namespace motley {

struct TableScheme {
  std::string name;
  uint32_t copies = 1;
  // By fault case, in the order of FaultCases; 0: not published, or never done.
  std::array<double, 5> published{};
  // The step on workers that truly need so many seconds per unit of work (infinite: dead from the
  // start); infinite when it never ends. Called from several threads at once.
  std::function<double(const std::vector<double>& seconds, Random& random)> step;
};

// Those without feedback: every worker does its list, and messages cost nothing.
Result<std::vector<TableScheme>> StaticSchemes(uint64_t seed);

struct AdaptiveOptions {
  uint32_t copies = 2;
  double link = 0;             // For which every vector occupies the server's link.
  bool dies_any_time = false;  // Not from the start, but within the first unit of time.
};
// Leases with feedback (scheduler/step/adaptive_step.h) on the cost-only step model: the workers'
// predicted speeds are those of TableSpeeds, a round trip takes 0.02, and so does hearing of a
// death.
Result<TableScheme> AdaptiveScheme(const AdaptiveOptions& options);

double MeanOf(const std::vector<double>& values);
// A step's mean time over the noise for each place of the fault; `runs`: of MeansOfRuns, for all
// places together.
std::vector<double> MeanTimes(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                              const TableScheme& scheme, const FaultCase& fault);

}  // namespace motley
