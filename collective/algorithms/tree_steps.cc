// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/tree_steps.h"

namespace motley {

// Node i has the children 2 i + 1 and 2 i + 2, so the first half of the nodes is inside the tree.
// The second tree counts members from the end.
std::vector<Step> TreeSteps(const Place& place) {
  const uint32_t n = place.members;
  const bool second = place.chunk % 2 == 1;
  const auto turned = [&](uint32_t number) { return second ? n - 1 - number : number; };
  const uint32_t node = turned(place.rank);
  std::vector<Rank> children;
  for (uint32_t child = 2 * node + 1; child <= 2 * node + 2 && child < n; ++child) {
    children.push_back(turned(child));
  }
  std::vector<Step> steps;
  for (const Rank child : children) steps.push_back({Verb::kAdd, child});
  if (node > 0) {
    const Rank parent = turned((node - 1) / 2);
    steps.push_back({Verb::kSend, parent});
    steps.push_back({Verb::kCopy, parent});
  }
  for (const Rank child : children) steps.push_back({Verb::kSend, child});
  return steps;
}

}  // namespace motley
