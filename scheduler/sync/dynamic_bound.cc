// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/dynamic_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace motley {

DynamicBound::DynamicBound(uint32_t workers, uint32_t low, uint32_t high)
    : most_extra_(std::min<uint64_t>(high - low, kMostExtra)), paces_(workers) {}

void DynamicBound::Opened(WorkerId worker, Time now) { paces_[worker].opened = now; }

void DynamicBound::Applied(WorkerId worker, Time now) {
  Pace& pace = paces_[worker];
  if (pace.opened) pace.length = now - *pace.opened;
  pace.opened.reset();
}

// When the worker's next update will be applied; none if that is not known.
std::optional<Time> DynamicBound::NextOf(WorkerId worker, Time now) const {
  const Pace& pace = paces_[worker];
  if (!pace.length) return std::nullopt;
  return pace.opened.value_or(now) + *pace.length;
}

void DynamicBound::Extend(WorkerId worker, uint64_t own, const std::vector<WorkerId>& slowest,
                          Time now) {
  Pace& pace = paces_[worker];
  if (own < pace.until || !pace.length) return;
  // The worker waits for the last of the slowest.
  std::optional<Time> next;
  double length = 0;
  for (const WorkerId each : slowest) {
    const std::optional<Time> its = NextOf(each, now);
    if (!its) return;
    if (next && *its <= *next) continue;
    next = its;
    length = ToSeconds(*paces_[each].length);
  }
  if (!next) return;
  const double first = ToSeconds(*next - now);
  const auto most = static_cast<double>(most_extra_);
  uint64_t extra = 0;
  double nearest = std::numeric_limits<double>::infinity();
  for (uint64_t k = 0; k <= most_extra_; ++k) {
    const double end = static_cast<double>(k) * ToSeconds(*pace.length);
    // The nearest of first, first + length, ..., first + most * length.
    const double j = length > 0 ? std::clamp(std::round((end - first) / length), 0.0, most) : 0;
    const double apart = std::abs(end - (first + j * length));
    if (apart >= nearest) continue;
    nearest = apart;
    extra = k;
  }
  pace.until = own + extra;
}

}  // namespace motley
