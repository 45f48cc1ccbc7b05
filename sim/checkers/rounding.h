// SPDX-License-Identifier: Apache-2.0
// What a job's workers compute with if vectors travel rounded (docs/decisions/0050), and how far
// sums of their answers may then be from exact ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/job.h"
#include "runtime/links/slicing.h"

namespace motley {

class Rounding {
 public:
  // `parameters` is the number of parameters.
  Rounding(const JobOptions& job, size_t parameters);

  // The parameters of a version as they arrive at workers.
  std::vector<float> Arrived(uint64_t version, std::span<const float> parameters) const;
  // The most that a sum may be off, relative to the sum of the norms of what it adds.
  double most() const { return most_; }

 private:
  const WireFormat wire_;
  const uint64_t seed_;
  const Slicing cut_;
  double most_ = 0;
};

}  // namespace motley
