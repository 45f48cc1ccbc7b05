// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/liveness_checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace motley {

void LivenessChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void LivenessChecker::On(const event::StepApplied& event) {
  if (event.now - since_ > limit_) {
    violations_.Add(fmt::format("I9: step {} took {:.3f} s without faults; the limit is {:.3f} s",
                                event.step, ToSeconds(event.now - since_), ToSeconds(limit_)));
  }
  since_ = std::max(since_, event.now);
  next_ = event.step + 1;
}

void LivenessChecker::StillRunning(Time now, uint32_t live_workers) {
  if (live_workers == 0 || now - since_ <= limit_) return;
  violations_.Add(fmt::format(
      "I9: step {} has not been committed {:.3f} s after the last fault or commit, with {} live "
      "workers; the limit is {:.3f} s",
      next_, ToSeconds(now - since_), live_workers, ToSeconds(limit_)));
}

}  // namespace motley
