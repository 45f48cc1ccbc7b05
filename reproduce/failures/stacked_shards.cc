// SPDX-License-Identifier: Apache-2.0
#include "reproduce/failures/stacked_shards.h"

#include <utility>

namespace motley {

StackedShards::StackedShards(uint32_t groups, uint32_t copies)
    : groups_(groups), copies_(copies), left_(groups, true), work_(groups), seen_(groups) {
  for (uint32_t shard = 0; shard < groups; ++shard) work_[shard] = {shard};
}

bool StackedShards::HasCopy(uint32_t shard) const {
  for (uint32_t k = 0; k < copies_; ++k) {
    if (left_[(shard + k) % groups_]) return true;
  }
  return false;
}

bool StackedShards::Lose(uint32_t group) {
  left_[group] = false;
  for (uint32_t k = 0; k < copies_; ++k) {
    if (!HasCopy((group + groups_ - k) % groups_)) return false;
  }
  const std::vector<uint32_t> orphans = std::exchange(work_[group], {});
  for (const uint32_t shard : orphans) {
    while (!Place(shard)) ++depth_;
  }
  return true;
}

bool StackedShards::Place(uint32_t shard) {
  ++search_;
  return PlaceWithin(shard);
}

// An augmenting path of a matching in which each group has `depth_` places.
bool StackedShards::PlaceWithin(uint32_t shard) {
  for (uint32_t k = 0; k < copies_; ++k) {
    const uint32_t group = (shard + k) % groups_;
    if (!left_[group] || seen_[group] == search_) continue;
    seen_[group] = search_;
    if (work_[group].size() < depth_) {
      work_[group].push_back(shard);
      return true;
    }
    for (size_t place = 0; place < work_[group].size(); ++place) {
      if (!PlaceWithin(work_[group][place])) continue;
      work_[group][place] = shard;
      return true;
    }
  }
  return false;
}

}  // namespace motley
