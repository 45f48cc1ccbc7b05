// SPDX-License-Identifier: Apache-2.0
// Speeds to plan with: averages of the learned speeds over the last looks, and the possible error
// of each average. Averages keep a plan from following noise. Pure.
#pragma once

#include <vector>

#include "base/ids.h"

namespace motley {

class SteadySpeeds {
 public:
  // Adds one look: the current `speeds` (> 0, one per id), and the relative standard deviation of
  // one measurement of each. A speed far from its average starts that average again, so that real
  // changes show at once.
  void Add(const std::vector<WorkerId>& ids, const std::vector<double>& speeds,
           const std::vector<double>& noise);

  // The averages, each moved by `errors` standard errors. Every id must have been in a look.
  std::vector<double> Of(const std::vector<WorkerId>& ids, double errors = 0) const;

 private:
  struct Average {
    double speed = 0;
    double looks = 0;
    double measurements = 0;  // Number of independent measurements behind the average.
    double noise = 0;         // Relative, of one measurement.
  };
  std::vector<Average> averages_;  // By worker.
};

}  // namespace motley
