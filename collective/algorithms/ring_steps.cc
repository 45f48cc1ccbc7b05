// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/ring_steps.h"

namespace motley {

std::vector<Step> RingSteps(const Place& place) {
  const uint32_t n = place.members;
  if (n == 1) return {};
  const Rank left = (place.rank + n - 1) % n, right = (place.rank + 1) % n;
  // Hops from the member at which the segment starts. The owner comes last.
  const uint32_t hops = (place.rank + n - place.segment - 1) % n;
  const bool owner = hops == n - 1;
  std::vector<Step> steps;
  if (hops > 0) steps.push_back({Verb::kAdd, left});
  if (!owner) {
    steps.push_back({Verb::kSend, right});
    steps.push_back({Verb::kCopy, left});
  }
  if (hops != n - 2) steps.push_back({Verb::kSend, right});  // The owner's left neighbour is last.
  return steps;
}

}  // namespace motley
