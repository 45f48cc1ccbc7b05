// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/replacement.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/decode/decoder_checks.h"

namespace motley {

Replacement::Replacement(std::shared_ptr<const CodeForm> form, DecodeLimits limits)
    : form_(std::move(form)), limits_(limits) {
  if (form_->tiling()) {
    tiling_.emplace(*form_);
  } else {
    blocks_ = BlocksOfC(*form_);
  }
}

std::vector<RowId> Replacement::RowsFor(const std::vector<bool>& absent) const {
  MOTLEY_ASSERT(absent.size() == form_->workers);
  std::vector<bool> present = absent;
  present.flip();
  std::vector<RowId> rows = tiling_ ? TilesFor(present) : CheapestBlock(present);
  if (tiling_) return rows;
  const std::vector<RowId> missing = MissingRows(*form_, present);
  for (const RowId row : rows) present[row] = true;
  // The cheapest block is enough unless the norm guard refuses it.
  for (const RowId row : missing) {
    if (present[row]) continue;
    if (SolveClosed(*form_, present, limits_).ok()) break;
    present[row] = true;
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<RowId> Replacement::TilesFor(const std::vector<bool>& present) const {
  std::vector<Tiling::Cost> costs(tiling_->supports(), Tiling::Cost::kExtra);
  for (RowId row = 0; row < form_->workers; ++row) {
    const uint32_t support = tiling_->SupportOf(row);
    if (present[row] && support != Tiling::kNone) costs[support] = Tiling::Cost::kFree;
  }
  std::vector<RowId> rows;
  for (const uint32_t support : tiling_->Cover(costs)) {
    if (costs[support] == Tiling::Cost::kExtra) rows.push_back(tiling_->RowsOf(support)[0]);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<RowId> Replacement::CheapestBlock(const std::vector<bool>& present) const {
  std::vector<std::vector<RowId>> lacking;
  for (const CBlock& block : blocks_) {
    std::vector<RowId>& rows = lacking.emplace_back();
    for (const RowId row : block.rows) {
      if (!present[row]) rows.push_back(row);
    }
    rows.resize(rows.size() - std::min(rows.size(), block.bears));
  }
  return *std::min_element(lacking.begin(), lacking.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
}

}  // namespace motley
