// SPDX-License-Identifier: Apache-2.0
// Speeds to plan with: learned speeds averaged over the last looks at them, so that a plan is not
// fitted to their noise. Pure.
#pragma once

#include <vector>

#include "base/ids.h"

namespace motley {

class SteadySpeeds {
 public:
  // One look: `speeds` (> 0, one per id) as they are known now. A speed far from its average starts
  // that average again, so that real changes are followed at once.
  void Add(const std::vector<WorkerId>& ids, const std::vector<double>& speeds);

  // The averages; every id must have been in a look.
  std::vector<double> Of(const std::vector<WorkerId>& ids) const;

 private:
  struct Average {
    double speed = 0;
    double looks = 0;
  };
  std::vector<Average> averages_;  // By worker.
};

}  // namespace motley
