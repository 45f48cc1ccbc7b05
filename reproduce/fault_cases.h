// SPDX-License-Identifier: Apache-2.0
// The cluster and the faults of the comparison of schemes (S3.8). The unit of time is that of all
// work on the whole, undisturbed cluster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/random.h"

namespace motley {

// Relative speeds of the workers.
std::span<const double> TableSpeeds();

// What one worker's time is multiplied by, for each worker; infinite: dead from the start.
using Slowdowns = std::vector<double>;

struct FaultCase {
  std::string name;               // none, slow2, slow5, dead, slow5x2
  std::vector<Slowdowns> places;  // Every choice of whom it befalls.
};
const std::vector<FaultCase>& FaultCases();

// Seconds per unit of work of each worker.
std::vector<double> SecondsOfAll();
// The same in a step: slowed down, and each speed off by 4 % (standard deviation).
std::vector<double> DrawSeconds(const Slowdowns& slowdowns, Random& random);

// Perfectly divisible work on these workers.
double Oracle(const Slowdowns& slowdowns);
// The same when every worker that takes part ends with a vector that occupies the server's link for
// `link` (divisible load theory with results returned one after the other: the fastest last).
double SinglePortOracle(const Slowdowns& slowdowns, double link);

}  // namespace motley
