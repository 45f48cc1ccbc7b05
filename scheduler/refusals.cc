// SPDX-License-Identifier: Apache-2.0
#include "scheduler/refusals.h"

#include <algorithm>

namespace motley {
namespace {

constexpr size_t kMost = 3;  // Refused answers of one incarnation.

}  // namespace

bool Refusals::Has(WorkerId worker) const {
  return std::find(senders_.begin(), senders_.end(), worker) != senders_.end();
}

bool Refusals::OnlyTheyAreLeft(const Membership& members, Time now) const {
  for (WorkerId id = 0; id < members.size(); ++id) {
    const Worker& worker = members[id];
    const bool counts = worker.live && worker.ready && !worker.Overdue(now);
    if (counts && !Has(id)) return false;
  }
  return true;
}

bool Refusals::ShowDivergence(const Membership& members, Time now) const {
  if (senders_.empty()) return false;
  uint32_t senders = 0;
  uint32_t awake = 0;
  for (WorkerId id = 0; id < members.size(); ++id) {
    if (!members.Live(id) || !members[id].ready || members[id].Overdue(now)) continue;
    ++awake;
    senders += Has(id) ? 1 : 0;
  }
  if (senders > 1 && senders == awake) return true;
  const auto same = std::count(senders_.begin(), senders_.end(), senders_.back());
  return members.LiveCount() == 1 && same >= static_cast<int>(kMost);
}

bool Refusals::TooMany(const Membership& members, WorkerId worker) {
  return members[worker].refused >= kMost && members.LiveCount() > 1;
}

}  // namespace motley
