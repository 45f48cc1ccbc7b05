// SPDX-License-Identifier: Apache-2.0
// Nodes that hold up an update of remote shards.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/shard/remote_shards.h"

namespace motley {
namespace {

// The least time before a node counts as slow, and for its answer after that.
constexpr Duration kLeastWait = std::chrono::milliseconds(100);
constexpr Duration kLeastAnswer = std::chrono::milliseconds(200);

}  // namespace

// The nodes that the open update waits for, once others have done their part.
std::set<WorkerId> RemoteShards::Awaited() const {
  std::set<WorkerId> awaited;
  if (!open_) return awaited;
  size_t summed = 0;
  for (const Shard& shard : shards_) {
    summed += shard.summed ? 1 : 0;
    std::set<WorkerId> nodes = shard.followers;
    nodes.insert(shard.owner);
    for (const WorkerId node : nodes) {
      const bool waits = applied_ != nullptr ? !shard.applied.contains(node)
                         : all_summed_       ? node != shard.owner && !shard.safe.contains(node)
                                             : node == shard.owner && !shard.summed;
      if (waits) awaited.insert(node);
    }
  }
  if (all_summed_ || 2 * summed >= shards_.size()) return awaited;
  // Before most sums are there, an owner is behind if it lacks an answer that most others have.
  awaited.clear();
  for (const auto& [key, where] : came_) {
    if (2 * where.size() < shards_.size() || where.size() == shards_.size()) continue;
    for (uint32_t number = 0; number < shards_.size(); ++number) {
      const Shard& shard = shards_[number];
      if (!shard.summed && !where.contains(number)) awaited.insert(shard.owner);
    }
  }
  return awaited;
}

void RemoteShards::Watch() {
  if (!asked_.empty()) return;
  const bool waits = !Awaited().empty();
  if (waits == (timer_ != 0)) return;
  if (waits) {
    awaited_since_ = loop_.Now();
    timer_ = loop_.After(std::max<Duration>(kLeastWait, 6 * usual_), [this] { OnSlow(); });
    return;
  }
  loop_.Cancel(std::exchange(timer_, 0));
  usual_ = std::max<Duration>(usual_ * 9 / 10, loop_.Now() - awaited_since_);
}

// A node that answers is busy with what others send it.
void RemoteShards::OnSlow() {
  timer_ = 0;
  asked_ = Awaited();
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    const Shard& shard = shards_[number];
    for (const WorkerId node : asked_) {
      const bool holds = shard.owner == node || shard.followers.contains(node);
      if (holds) SendAgain(number, node);
    }
  }
  if (asked_.empty()) return;
  timer_ = loop_.After(std::max<Duration>(kLeastAnswer, 4 * usual_), [this] { OnSilent(); });
}

void RemoteShards::OnSilent() {
  timer_ = 0;
  bool all_silent = true;
  for (const WorkerId node : std::exchange(asked_, {})) {
    const bool silent = std::any_of(told_.begin(), told_.end(),
                                    [node](const auto& each) { return each.second == node; });
    all_silent &= silent;
    if (silent) Leave(node);
  }
  if (!all_silent) usual_ = std::max<Duration>(usual_, loop_.Now() - awaited_since_);
  Watch();
}

// The node is late. Others take over what it holds.
void RemoteShards::Leave(WorkerId late) {
  constexpr uint64_t kShunned = 16;  // Updates, after the first time.
  shunned_[late] = version_ + (kShunned << std::min<uint32_t>(late_[late]++, 10));
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    // It alone has a shard, so it is waited for.
    if (shards_[number].owner == late && !HeirOf(number)) return;
  }
  Tell(late, wire::ShardDropT());
  Forsake(late, Status::Unavailable("it was late with its part of an update"));
}

}  // namespace motley
