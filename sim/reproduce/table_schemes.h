// SPDX-License-Identifier: Apache-2.0
// The schemes of the comparison on one cluster (S3.8), each as the time that a step takes.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
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

}  // namespace motley
