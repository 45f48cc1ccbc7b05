// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/early_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "training/trainers/trainer.h"

namespace motley {

EarlyRanges::EarlyRanges(size_t parameters, Final final, std::function<void(const Range&)> prepare)
    : parameters_(parameters),
      length_(VectorLength(parameters)),
      final_(std::move(final)),
      prepare_(std::move(prepare)) {}

void EarlyRanges::Add(size_t begin, size_t end, const Tally& tally) {
  end = end >= parameters_ ? length_ : end;
  if (!final_ || begin >= end) return;
  Range whole = Join({begin, end});
  // Two values may be one complex number.
  whole.begin += whole.begin % 2;
  whole.end -= whole.end % 2;
  for (const Range& range : Missing(whole)) {
    if (!tally_) tally_ = tally;
    if (prepare_) prepare_(range);
    handed_out_[range.begin] = range.end;
    final_(range.begin, range.end, *tally_);
  }
}

// Adds the range to those that are ready. Returns it with all that it overlaps or touches.
EarlyRanges::Range EarlyRanges::Join(Range range) {
  auto at = ready_.upper_bound(range.begin);
  if (at != ready_.begin() && std::prev(at)->second >= range.begin) --at;
  while (at != ready_.end() && at->first <= range.end) {
    range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
    at = ready_.erase(at);
  }
  ready_[range.begin] = range.end;
  return range;
}

std::vector<EarlyRanges::Range> EarlyRanges::Missing(Range range) const {
  std::vector<Range> missing;
  for (const auto& [begin, end] : handed_out_) {
    if (end <= range.begin) continue;
    if (begin >= range.end) break;
    if (range.begin < begin) missing.push_back({range.begin, begin});
    range.begin = end;
  }
  if (range.begin < range.end) missing.push_back(range);
  return missing;
}

Status EarlyRanges::Check(const Tally& tally, const std::string& where) const {
  if (!tally_ || *tally_ == tally) return Status::Ok();
  return Status::Callback(
      fmt::format("{}: the loss or the weight was changed after a range of the sum was reported as "
                  "ready: set both before",
                  where));
}

}  // namespace motley
