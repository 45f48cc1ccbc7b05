// SPDX-License-Identifier: Apache-2.0
// Speeds to plan with: learned speeds averaged over the last looks at them, so that a plan is not
// fitted to their noise, and how far off the averages may be. Pure.
#pragma once

#include <vector>

#include "base/ids.h"

namespace motley {

class SteadySpeeds {
 public:
  // One look: `speeds` (> 0, one per id) as they are known now, and the relative standard deviation
  // of one measurement of each. A speed far from its average starts that average again, so that
  // real changes are followed at once.
  void Add(const std::vector<WorkerId>& ids, const std::vector<double>& speeds,
           const std::vector<double>& noise);

  // The averages, each moved by so many of its standard errors; every id must have been in a look.
  std::vector<double> Of(const std::vector<WorkerId>& ids, double errors = 0) const;

 private:
  struct Average {
    double speed = 0;
    double looks = 0;
    double measurements = 0;  // That it rests on, if they were independent.
    double noise = 0;         // Relative, of one of them.
  };
  std::vector<Average> averages_;  // By worker.
};

}  // namespace motley
