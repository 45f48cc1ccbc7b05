// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/tiling.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace motley {

Tiling::Tiling(const CodeForm& form)
    : partitions_(form.partitions), support_of_(form.workers, kNone) {
  std::map<std::vector<PartitionId>, std::vector<RowId>> by_members;
  for (RowId row = 0; row < form.workers; ++row) {
    std::vector<PartitionId> members;
    for (const CodeEntry& entry : form.rows[row]) members.push_back(entry.partition);
    if (!members.empty()) by_members[std::move(members)].push_back(row);
  }
  std::vector<uint32_t> holders(partitions_, 0);
  first_from_.assign(size_t{partitions_} + 1, 0);
  for (auto& [members, rows] : by_members) {
    for (RowId row : rows) support_of_[row] = supports();
    for (PartitionId partition : members) disjoint_ = ++holders[partition] == 1 && disjoint_;
    ++first_from_[members.front() + 1];
    members_.push_back(members);
    rows_.push_back(std::move(rows));
  }
  std::partial_sum(first_from_.begin(), first_from_.end(), first_from_.begin());
}

// Depth first over the lowest uncovered partition, which only supports that begin there can cover.
struct Tiling::Search {
  const Tiling& tiling;
  std::span<const Cost> costs;
  std::vector<bool> covered;
  std::vector<uint32_t> chosen;
  std::vector<uint32_t> best;
  uint32_t best_extras = UINT32_MAX;
  int steps_left = 100000;

  bool Fits(uint32_t support) const {
    if (costs[support] == Cost::kImpossible) return false;
    const auto& members = tiling.members_[support];
    return std::none_of(members.begin(), members.end(), [&](PartitionId p) { return covered[p]; });
  }

  void Mark(uint32_t support, bool value) {
    for (PartitionId partition : tiling.members_[support]) covered[partition] = value;
  }

  void From(PartitionId partition, uint32_t extras) {
    if (extras >= best_extras || best_extras == 0 || --steps_left < 0) return;
    while (partition < tiling.partitions_ && covered[partition]) ++partition;
    if (partition == tiling.partitions_) {
      best_extras = extras;
      best = chosen;
      return;
    }
    for (uint32_t support = tiling.first_from_[partition];
         support < tiling.first_from_[partition + 1]; ++support) {
      if (!Fits(support)) continue;
      Mark(support, true);
      chosen.push_back(support);
      From(partition + 1, extras + (costs[support] == Cost::kExtra));
      chosen.pop_back();
      Mark(support, false);
    }
  }
};

std::vector<uint32_t> Tiling::Cover(std::span<const Cost> costs) const {
  if (disjoint_) {
    if (std::count(costs.begin(), costs.end(), Cost::kImpossible) > 0) return {};
    std::vector<uint32_t> all(supports());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  Search search{*this, costs, std::vector<bool>(partitions_, false), {}, {}};
  search.From(0, 0);
  return search.best;
}

}  // namespace motley
