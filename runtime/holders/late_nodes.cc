// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/late_nodes.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace motley {
namespace {

// The least time before a node counts as slow, and for its answer after that.
constexpr Duration kLeastWait = std::chrono::milliseconds(100);
constexpr Duration kLeastAnswer = std::chrono::milliseconds(200);

}  // namespace

void LateNodes::Restart() {
  asked_.clear();
  if (timer_ != 0) loop_.Cancel(std::exchange(timer_, 0));
}

void LateNodes::Watch() {
  if (!asked_.empty()) return;
  const bool waits = !update_.Awaited().empty();
  if (waits == (timer_ != 0) && (!waits || reading_ == update_.reading())) return;
  if (timer_ != 0) {
    loop_.Cancel(std::exchange(timer_, 0));
    Usual() = std::max<Duration>(Usual() * 9 / 10, loop_.Now() - awaited_since_);
  }
  if (!waits) return;
  reading_ = update_.reading();
  awaited_since_ = loop_.Now();
  const Duration wait = reading_ ? usual_reading_ * 3 / 2 : usual_ * 6;
  timer_ = loop_.After(std::max<Duration>(kLeastWait, wait), [this] { OnSlow(); });
}

// A node that answers is busy with what others send it.
void LateNodes::OnSlow() {
  timer_ = 0;
  asked_ = update_.Awaited();
  placement_.Ask(asked_);
  if (asked_.empty()) return;
  timer_ = loop_.After(std::max<Duration>(kLeastAnswer, 4 * usual_), [this] { OnSilent(); });
}

void LateNodes::OnSilent() {
  timer_ = 0;
  bool all_silent = true;
  for (const WorkerId node : std::exchange(asked_, {})) {
    const bool silent = placement_.Silent(node);
    all_silent &= silent;
    if (silent) late_(node);
  }
  if (!all_silent) Usual() = std::max<Duration>(Usual(), loop_.Now() - awaited_since_);
  Watch();
}

}  // namespace motley
