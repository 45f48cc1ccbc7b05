// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies.h"

namespace motley {

const std::vector<SchedulingPolicy>& SchedulingPolicies() {
  static const std::vector<SchedulingPolicy> kPolicies = {
      {"coded", "bulk-synchronous with gradient coding", &MakeCodedScheduler},
  };
  return kPolicies;
}

}  // namespace motley
