// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/even_turns.h"

#include <algorithm>

namespace motley {
void EvenTurns::Opened(WorkerId worker, Time now) {
  paces_[worker].opened = now;
  last_ = now;
}

void EvenTurns::Applied(WorkerId worker, Time now) {
  Pace& pace = paces_[worker];
  if (!pace.opened) return;
  if (pace.begun) pace.lengths[pace.measured++ % kRecent] = now - *pace.opened;
  pace.begun = true;
  pace.opened.reset();
}

Time EvenTurns::Next(const std::vector<WorkerId>& workers) const {
  Duration cycle{};
  for (const WorkerId worker : workers) {
    const Pace& pace = paces_[worker];
    if (pace.measured == 0) continue;
    const auto known = static_cast<std::ptrdiff_t>(std::min(pace.measured, kRecent));
    cycle = std::max(cycle, *std::min_element(pace.lengths.begin(), pace.lengths.begin() + known));
  }
  if (cycle == Duration::zero()) return Time::min();
  const double gap = kGap / static_cast<double>(workers.size());
  return last_ + std::chrono::duration_cast<Duration>(gap * cycle);
}

}  // namespace motley
