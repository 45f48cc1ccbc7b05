// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/hierarchical_steps.h"

#include <algorithm>

#include "base/assert.h"
#include "collective/algorithms/butterfly_steps.h"

namespace motley {

std::vector<Step> HierarchicalSteps(const Place& place) {
  MOTLEY_ASSERT(place.groups != nullptr);
  const Groups& groups = *place.groups;
  const auto own = std::find_if(groups.begin(), groups.end(), [&](const std::vector<Rank>& group) {
    return std::find(group.begin(), group.end(), place.rank) != group.end();
  });
  MOTLEY_ASSERT(own != groups.end());
  const Rank leader = own->front();
  if (place.rank != leader) return {{Verb::kSend, leader}, {Verb::kCopy, leader}};
  std::vector<Step> steps;
  for (size_t i = 1; i < own->size(); ++i) steps.push_back({Verb::kAdd, (*own)[i]});
  Place among = place;
  among.rank = static_cast<Rank>(own - groups.begin());
  among.members = static_cast<uint32_t>(groups.size());
  among.segment = place.segment % among.members;
  for (const Step& step : ButterflySteps(among)) {
    steps.push_back({step.verb, groups[step.peer].front()});
  }
  for (size_t i = 1; i < own->size(); ++i) steps.push_back({Verb::kSend, (*own)[i]});
  return steps;
}

}  // namespace motley
