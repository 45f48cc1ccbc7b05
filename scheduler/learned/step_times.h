// SPDX-License-Identifier: Apache-2.0
// How long the last steps took. Pure bookkeeping.
#pragma once

#include <cstddef>
#include <vector>

namespace motley {

class StepTimes {
 public:
  explicit StepTimes(size_t kept = 64) : kept_(kept) {}

  void Add(double seconds);

  size_t count() const { return seconds_.size(); }  // Steps that are remembered: at most `kept`.
  // The mean, in which no step counts as more than six times the median: a rare fault says nothing
  // about all other steps. 0 without any steps.
  double Mean() const;
  double Median() const;

 private:
  std::vector<double> Capped() const;

  size_t kept_;
  std::vector<double> seconds_;  // A ring.
  size_t next_ = 0;
};

}  // namespace motley
