// SPDX-License-Identifier: Apache-2.0
// Redundant shards of a batch, stacked on groups of machines, with the order of execution adapted
// to the groups that are left. This is our reading of SPARe's abstract (arXiv 2603.00357): it says
// neither where the copies are nor how the order is found. Here shard j is on the groups j, ...,
// j + copies - 1, and the order is the best one.
#pragma once

#include <cstdint>
#include <vector>

namespace motley {

class StackedShards {
 public:
  // There are as many shards as groups. `copies` is from 1 to `groups`.
  StackedShards(uint32_t groups, uint32_t copies);

  // A group is gone. Returns false if a shard has no copy left; the object is then of no more use.
  bool Lose(uint32_t group);
  // The shards that the busiest group computes in a step, if they are assigned as well as possible.
  // With three groups and two copies, it is 1, and 2 without one of the groups.
  uint32_t depth() const { return depth_; }

 private:
  bool HasCopy(uint32_t shard) const;
  bool Place(uint32_t shard);  // Within the depth, moving others if it must.
  bool PlaceWithin(uint32_t shard);

  const uint32_t groups_;
  const uint32_t copies_;
  uint32_t depth_ = 1;
  std::vector<bool> left_;
  std::vector<std::vector<uint32_t>> work_;  // The shards that each group computes.
  std::vector<uint64_t> seen_;               // The last search that came to a group.
  uint64_t search_ = 0;
};

}  // namespace motley
