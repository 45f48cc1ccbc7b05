// SPDX-License-Identifier: Apache-2.0
// The cluster and the faults of the comparison of schemes (S3.8). The unit of time is the time of
// all work on the whole, undisturbed cluster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/random.h"

namespace motley {

// Relative speeds of the workers.
std::span<const double> TableSpeeds();

// Factor of each worker's time; infinite: dead from the start.
using Slowdowns = std::vector<double>;

struct FaultCase {
  std::string name;               // none, slow2, slow5, dead, slow5x2
  std::vector<Slowdowns> places;  // Every choice of the workers that it affects.
};
const std::vector<FaultCase>& FaultCases();

// Seconds per unit of work, by worker.
std::vector<double> SecondsOfAll();
// Seconds per unit of work in one step: slowed down, and with an error of 4 % (standard deviation)
// in each speed.
std::vector<double> DrawSeconds(const Slowdowns& slowdowns, Random& random);

// Step time of perfectly divisible work on these workers.
double Oracle(const Slowdowns& slowdowns);
// Step time of divisible work when every worker that takes part ends with a vector that occupies
// the server's link for `link`. Divisible load theory, with results returned one after the other:
// the fastest last.
double SinglePortOracle(const Slowdowns& slowdowns, double link);

}  // namespace motley
