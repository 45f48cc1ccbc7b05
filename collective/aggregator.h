// SPDX-License-Identifier: Apache-2.0
// Sums the vectors that the members of a group contribute to an update, and gives all of them the
// same sum, bit for bit. Loop thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/function.h"
#include "base/status.h"

namespace motley {

// What a member adds to an update. Every member's has the same lengths.
struct Contribution {
  std::vector<float> vector;
  std::vector<double> beside;  // A few values that need more digits, such as loss and weight.
};

class Aggregator {
 public:
  // Called exactly once per Contribute, never inside it. Fine: the contribution holds the sum.
  // Otherwise its values are undefined, and transfers may still use it for a while.
  using Done = Function<void(Status)>;

  virtual ~Aggregator() = default;

  // Replaces the values by the sum over all members. One update is open at a time, and their ids
  // grow. `done` may call Contribute, but may not destroy the aggregator. After an error, every
  // later update has the same error: the group has to be made anew without the members at fault.
  virtual void Contribute(uint64_t update, std::shared_ptr<Contribution> contribution,
                          Done done) = 0;
};

}  // namespace motley
