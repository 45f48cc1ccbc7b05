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
// In the first updates, nodes make room for the vector and answer nothing meanwhile. A busy machine
// makes room for so many bytes in a second. Shorter vectors need no extra time.
constexpr uint32_t kFirstUpdates = 2;
constexpr double kShortBytes = 256 << 20;
constexpr double kMovedPerSecond = 5e7;
// Reports take as long as the links need, so nodes are asked again and again.
constexpr Duration kAuditWait = std::chrono::seconds(1);

}  // namespace

void LateNodes::Restart(bool again) {
  if (!again) {
    slow_.Begin(loop_.Now());
    ++usual_.updates;
  }
  Rest();
}

void LateNodes::Lost(WorkerId worker) {
  asked_.erase(worker);
  slow_.Lost(worker);
}

void LateNodes::Rest() {
  asked_.clear();
  if (timer_ != 0) loop_.Cancel(std::exchange(timer_, 0));
}

LateNodes::Wait LateNodes::Awaited() const {
  std::set<WorkerId> nodes = update_.Awaited();
  if (nodes.empty()) return {For::kAudit, audit_.Awaited()};
  return {update_.reading() ? For::kReading : For::kUpdate, std::move(nodes)};
}

// Audits are read at the speed of the coordinator's link, which says nothing of nodes.
void LateNodes::Learn(Duration took, int tenths_kept) {
  if (waits_for_ == For::kAudit) return;
  Duration& usual = waits_for_ == For::kReading ? usual_.reading : usual_.update;
  usual = std::max<Duration>(usual * tenths_kept / 10, took);
}

void LateNodes::Watch() {
  const Wait wait = Awaited();
  const bool of_update = update_.attempt() > 0 && wait.what != For::kAudit;
  slow_.Awaits(of_update ? wait.nodes : std::set<WorkerId>(),
               update_.summed() ? SlowNodes::Stage::kCopies : SlowNodes::Stage::kSums, loop_.Now());
  if (!asked_.empty()) return;
  const bool waits = !wait.nodes.empty();
  if (waits == (timer_ != 0) && (!waits || waits_for_ == wait.what)) return;
  if (timer_ != 0) {
    loop_.Cancel(std::exchange(timer_, 0));
    Learn(loop_.Now() - awaited_since_, 9);
  }
  if (!waits) return;
  waits_for_ = wait.what;
  awaited_since_ = loop_.Now();
  Duration patience = waits_for_ == For::kReading ? usual_.reading * 3 / 2 : usual_.update * 6;
  if (waits_for_ == For::kAudit) patience = kAuditWait;
  timer_ = loop_.After(std::max<Duration>(kLeastWait, patience), [this] { OnSlow(); });
}

// A node that answers is busy with what others send it.
void LateNodes::OnSlow() {
  timer_ = 0;
  asked_ = Awaited().nodes;
  placement_.Ask(asked_);
  if (asked_.empty()) return;
  const Duration least = waits_for_ == For::kAudit ? kAuditWait : kLeastAnswer;
  silent_until_ = loop_.Now() + ExtraTime();
  timer_ = loop_.After(std::max<Duration>(least, 4 * usual_.update), [this] { OnSilent(); });
}

Duration LateNodes::ExtraTime() const {
  if (usual_.updates > kFirstUpdates) return Duration::zero();
  const double bytes = static_cast<double>(placement_.count()) * sizeof(float);
  return FromSeconds(std::max(0.0, bytes - kShortBytes) / kMovedPerSecond);
}

void LateNodes::OnSilent() {
  timer_ = 0;
  // Nobody waits any more for one that ended its part or was given up meanwhile.
  const std::set<WorkerId> awaited = Awaited().nodes;
  const auto is_silent = [&](WorkerId node) {
    return awaited.contains(node) && placement_.Silent(node);
  };
  if (std::any_of(asked_.begin(), asked_.end(), is_silent) && loop_.Now() < silent_until_) {
    timer_ = loop_.After(kLeastAnswer, [this] { OnSilent(); });
    return;
  }
  bool all_silent = true;
  for (const WorkerId node : std::exchange(asked_, {})) {
    const bool silent = is_silent(node);
    all_silent &= silent;
    if (silent) late_(node);
  }
  if (!all_silent) Learn(loop_.Now() - awaited_since_, 10);
  Watch();
}

}  // namespace motley
