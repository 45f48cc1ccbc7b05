// SPDX-License-Identifier: Apache-2.0
// Means over many random runs on all threads. Results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"
#include "reproduce/experiment.h"

namespace motley {

struct Estimate {
  double mean = 0;
  double error = 0;  // Standard error of the mean.
  double most = 0;   // The largest of all.
};

// Calls `run` `runs * context.effort` times (at least twice). Each call fills `values` figures,
// which are 0 at first. `stream` (1..) separates the random numbers of different experiments. `run`
// is called from several threads at once.
std::vector<Estimate> MeansOfRuns(
    const ReproduceContext& context, uint64_t stream, uint64_t runs, size_t values,
    const std::function<void(Random& random, std::span<double> figures)>& run);

}  // namespace motley
