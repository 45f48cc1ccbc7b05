// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/slow_nodes.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace motley {
namespace {

// If one of n alike workers owns nothing, the links of the others carry 2 - 1 / (n - 1) vectors in
// place of 2 - 2 / n: an eighth more for three workers, and less for more. So a node has to hold an
// update up for longer than that.
constexpr int kLeastPart = 5;  // A fifth of the time from one update to the next.
constexpr Duration kLeastWait = std::chrono::milliseconds(50);
constexpr uint32_t kUpdates = 4;  // In a row.

}  // namespace

void SlowNodes::Begin(Time now) {
  EndAlone(now);
  const auto longest =
      std::max_element(waits_.begin(), waits_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool slow = longest != waits_.end() && began_ &&
                    longest->second >= std::max<Duration>(kLeastWait, (now - *began_) / kLeastPart);
  if (!slow) {
    times_ = 0;
  } else {
    times_ = longest->first == last_ ? times_ + 1 : 1;
    last_ = longest->first;
  }
  began_ = now;
  stage_ = Stage::kSums;
  several_ = false;
  waits_.clear();
}

void SlowNodes::EndAlone(Time now) {
  if (alone_) waits_[*alone_] += now - since_;
  alone_.reset();
}

void SlowNodes::Awaits(const std::set<WorkerId>& nodes, Stage stage, Time now) {
  if (alone_ && (stage != stage_ || nodes != std::set{*alone_})) EndAlone(now);
  if (stage != stage_) several_ = false;
  stage_ = stage;
  several_ = several_ || nodes.size() > 1;
  // Sums are awaited only once others are there. If only one node has a copy, there is no other to
  // compare.
  const bool others = several_ || stage == Stage::kSums;
  if (alone_ || nodes.size() != 1 || !others) return;
  alone_ = *nodes.begin();
  since_ = now;
}

void SlowNodes::Lost(WorkerId worker) {
  if (alone_ == worker) alone_.reset();
  waits_.erase(worker);
  if (last_ == worker) times_ = 0;
}

std::optional<WorkerId> SlowNodes::Take() {
  if (times_ < kUpdates) return std::nullopt;
  times_ = 0;
  return last_;
}

}  // namespace motley
