// SPDX-License-Identifier: Apache-2.0
// How long the last steps took, and how sure their mean is. Pure bookkeeping.
#pragma once

#include <cstddef>
#include <vector>

namespace motley {

class StepTimes {
 public:
  explicit StepTimes(size_t kept = 64) : kept_(kept) {}

  void Add(double seconds);

  size_t count() const { return seconds_.size(); }  // That are remembered: at most `kept`.
  // Of which none counts as more than six times the median: a fault now and then is no verdict on
  // all other steps. 0 without any.
  double Mean() const;
  double Median() const;
  // Its standard error. Few steps that are alike by chance are not as sure as they look: at least
  // as if single ones scattered by 4 %.
  double Error() const;

 private:
  std::vector<double> Capped() const;

  size_t kept_;
  std::vector<double> seconds_;  // A ring.
  size_t next_ = 0;
};

}  // namespace motley
