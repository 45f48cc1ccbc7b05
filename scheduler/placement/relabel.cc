// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/relabel.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Columns on rows of the same owners, which are interchangeable.
struct Kind {
  std::vector<uint32_t> owners;
  std::vector<PartitionId> columns;  // Numbers in the code.
  std::vector<PartitionId> takes;    // Their new numbers; at most as many as columns.

  bool full() const { return takes.size() == columns.size(); }
};

std::vector<Kind> KindsOf(const CodeForm& code) {
  const std::vector<std::vector<RowId>> lists = RowLists(code);
  std::vector<std::vector<uint32_t>> owners_of(code.partitions);
  for (uint32_t owner = 0; owner < lists.size(); ++owner) {
    for (const RowId row : lists[owner]) {
      for (const CodeEntry& entry : code.rows[row]) {
        std::vector<uint32_t>& owners = owners_of[entry.partition];
        if (owners.empty() || owners.back() != owner) owners.push_back(owner);
      }
    }
  }
  std::map<std::vector<uint32_t>, std::vector<PartitionId>> alike;
  for (PartitionId p = 0; p < code.partitions; ++p) alike[owners_of[p]].push_back(p);
  std::vector<Kind> kinds;
  for (auto& [owners, columns] : alike) kinds.push_back({owners, std::move(columns), {}});
  return kinds;
}

class Matching {
 public:
  Matching(const CodeForm& code, const std::vector<const std::vector<bool>*>& held)
      : held_(held),
        kinds_(KindsOf(code)),
        kinds_of_(held.size()),
        holders_(code.partitions),
        order_(code.partitions),
        overlaps_(kinds_.size(), 0) {
    for (size_t k = 0; k < kinds_.size(); ++k) {
      for (const uint32_t owner : kinds_[k].owners) kinds_of_[owner].push_back(k);
    }
    for (uint32_t owner = 0; owner < held.size(); ++owner) {
      for (PartitionId p = 0; p < code.partitions; ++p) {
        if ((*held[owner])[p]) holders_[p].push_back(owner);
      }
    }
    std::iota(order_.begin(), order_.end(), PartitionId{0});
    // Partitions with the fewest holders have the least choice.
    std::stable_sort(order_.begin(), order_.end(), [this](PartitionId a, PartitionId b) {
      return holders_[a].size() < holders_[b].size();
    });
  }

  const std::vector<Kind>& Run() {
    std::vector<PartitionId> left;
    for (const PartitionId p : order_) {
      if (const size_t best = Best(p); best != kNone) {
        kinds_[best].takes.push_back(p);
      } else if (!MakeRoomFor(p)) {
        left.push_back(p);
      }
    }
    size_t kind = 0;  // No owner that needs these partitions holds any of them.
    for (const PartitionId p : left) {
      while (kinds_[kind].full()) ++kind;
      kinds_[kind].takes.push_back(p);
    }
    return kinds_;
  }

 private:
  size_t Overlap(const Kind& kind, PartitionId p) const {
    return static_cast<size_t>(std::count_if(kind.owners.begin(), kind.owners.end(),
                                             [&](uint32_t owner) { return (*held_[owner])[p]; }));
  }

  // A kind with room whose owners hold `p` most often; among equals the one with most room, then
  // the first. It checks only kinds of the holders.
  size_t Best(PartitionId p) {
    met_.clear();
    for (const uint32_t owner : holders_[p]) {
      for (const size_t k : kinds_of_[owner]) {
        if (overlaps_[k]++ == 0) met_.push_back(k);
      }
    }
    size_t best = kNone, most = 0, room = 0;
    for (const size_t k : met_) {
      const size_t overlap = std::exchange(overlaps_[k], 0);
      const size_t open = kinds_[k].columns.size() - kinds_[k].takes.size();
      if (open == 0 || std::tie(overlap, open) < std::tie(most, room)) continue;
      if (overlap == most && open == room && k > best) continue;
      best = k, most = overlap, room = open;
    }
    return best;
  }

  // Moves a partition of a full kind to another kind that is as good for it.
  bool MakeRoomFor(PartitionId p) {
    for (Kind& full : kinds_) {
      const size_t gain = Overlap(full, p);
      if (gain == 0 || !full.full()) continue;
      for (PartitionId& taken : full.takes) {
        const size_t other = Best(taken);
        if (other == kNone || Overlap(kinds_[other], taken) < Overlap(full, taken)) continue;
        kinds_[other].takes.push_back(taken);
        taken = p;
        return true;
      }
    }
    return false;
  }

  const std::vector<const std::vector<bool>*>& held_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<size_t>> kinds_of_;   // By owner.
  std::vector<std::vector<uint32_t>> holders_;  // By partition.
  std::vector<PartitionId> order_;
  std::vector<size_t> overlaps_;  // By kind; zeros between calls of Best.
  std::vector<size_t> met_;       // Space for the kinds whose counts are not zero.
};

// Sorts entries by partition, together with their data.
void SortRow(RowId row, CodeForm& code) {
  const std::vector<CodeEntry> entries = code.rows[row];
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return entries[a].partition < entries[b].partition; });
  for (size_t i = 0; i < order.size(); ++i) code.rows[row][i] = entries[order[i]];
  if (code.parts == 1) return;
  const size_t others = code.parts - 1;
  const std::vector<Complex> before = code.other_parts[row];
  for (size_t i = 0; i < order.size(); ++i) {
    std::copy_n(before.begin() + static_cast<ptrdiff_t>(order[i] * others), others,
                code.other_parts[row].begin() + static_cast<ptrdiff_t>(i * others));
  }
}

}  // namespace

CodeForm RelabelToHeld(const CodeForm& code, const std::vector<const std::vector<bool>*>& held) {
  MOTLEY_ASSERT(held.size() == code.owners());
  Matching matching(code, held);
  std::vector<PartitionId> label(code.partitions);
  for (Kind kind : matching.Run()) {
    std::sort(kind.takes.begin(), kind.takes.end());
    for (size_t i = 0; i < kind.columns.size(); ++i) label[kind.columns[i]] = kind.takes[i];
  }
  CodeForm out = code;
  for (auto& row : out.rows) {
    for (CodeEntry& entry : row) entry.partition = label[entry.partition];
  }
  for (RowId row = 0; row < out.rows.size(); ++row) SortRow(row, out);
  return out;
}

}  // namespace motley
