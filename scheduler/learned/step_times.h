// SPDX-License-Identifier: Apache-2.0
// How long the last steps took, and how certain their mean is. Pure bookkeeping.
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
  // The standard error of the mean. A few steps may be alike by chance, so the error is at least
  // that of single steps that scatter by 4 %.
  double Error() const;

 private:
  std::vector<double> Capped() const;

  size_t kept_;
  std::vector<double> seconds_;  // A ring.
  size_t next_ = 0;
};

}  // namespace motley
