// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/shard_moves.h"

#include <algorithm>
#include <tuple>

namespace motley {
namespace {

constexpr uint64_t kCopyEvery = 8;  // Updates. A copy of a shard with its state delays one.
// Updates in which a next owner has to read a version, and the others have to reach it.
constexpr uint64_t kPatience = 64;

}  // namespace

void ShardMoves::Begin() {
  for (const auto& [worker, address] : placement_.choice().members()) weights_[worker] = 0;
  for (const ShardPlacement::Shard& shard : placement_.shards()) {
    first_.push_back(shard.owner);
    ++weights_[shard.owner];
  }
}

std::set<uint32_t> ShardMoves::Lacking(uint64_t version) const {
  std::set<uint32_t> lacking;
  for (uint32_t number = 0; number < placement_.shards().size(); ++number) {
    if (placement_.choice().FollowerOf(placement_.shards(), number, version)) {
      lacking.insert(number);
    }
  }
  return lacking;
}

void ShardMoves::Fill(uint64_t version, const std::set<uint32_t>& shards, const ShardState* state) {
  for (const uint32_t number : shards) {
    while (const auto next = placement_.choice().FollowerOf(placement_.shards(), number, version)) {
      placement_.AddFollower(number, *next, state);
    }
  }
}

std::optional<ShardMoves::Move> ShardMoves::Next(uint64_t version) {
  if (looked_ == version) return std::nullopt;
  looked_ = version;
  CountGained();
  if (going_) return GoOn(version);
  if (const auto drop = DropSurplus()) return drop;
  return Start(version);
}

ShardMoves::Gained ShardMoves::TakeGained() {
  return balanced_ ? std::exchange(gained_, {}) : Gained();
}

// The shards are settled, so a new owner has confirmed that it owns its shard, or it was lost.
void ShardMoves::CountGained() {
  if (!handed_over_) return;
  const auto [number, to, since] = *std::exchange(handed_over_, std::nullopt);
  if (placement_.shards()[number].owner == to) ++gained_[to];
}

// The worker that is to own the shard may be lost meanwhile, or late.
std::optional<ShardMoves::Move> ShardMoves::GoOn(uint64_t version) {
  const auto [number, to, since] = *going_;
  if (!placement_.shards()[number].followers.contains(to) ||
      !placement_.choice().MayHold(to, version)) {
    going_.reset();
    return std::nullopt;
  }
  if (!placement_.coming().contains(number, to) && AllReach(to)) {
    handed_over_ = std::exchange(going_, std::nullopt);
    return Move{Move::Kind::kHandOver, number, to};
  }
  if (version < since + kPatience) return std::nullopt;
  going_.reset();
  not_before_[to] = version + kPatience;
  const size_t enough = placement_.choice().rules().followers;
  if (placement_.shards()[number].followers.size() <= enough) return std::nullopt;
  return Move{Move::Kind::kDrop, number, to};
}

// The one that follows the most for what it owns.
std::optional<ShardMoves::Move> ShardMoves::DropSurplus() const {
  std::map<WorkerId, double> owned, followed;
  for (const ShardPlacement::Shard& shard : placement_.shards()) {
    ++owned[shard.owner];
    for (const WorkerId follower : shard.followers) ++followed[follower];
  }
  for (uint32_t number = 0; number < placement_.shards().size(); ++number) {
    const ShardPlacement::Shard& shard = placement_.shards()[number];
    if (shard.followers.size() <= placement_.choice().rules().followers) continue;
    const auto rank = [&](WorkerId node) {
      return std::tuple(placement_.coming().contains(number, node),
                        followed[node] / (owned[node] + 0.5));
    };
    const WorkerId most =
        *std::max_element(shard.followers.begin(), shard.followers.end(),
                          [&](WorkerId a, WorkerId b) { return rank(a) < rank(b); });
    return Move{Move::Kind::kDrop, number, most};
  }
  return std::nullopt;
}

void ShardMoves::Left(WorkerId worker) {
  gained_.erase(worker);
  not_before_.erase(worker);
  if (handed_over_ && handed_over_->to == worker) handed_over_.reset();
  reached_.erase(worker);
  for (auto& [node, by] : reached_) by.erase(worker);
}

bool ShardMoves::AllReach(WorkerId node) const {
  const auto found = reached_.find(node);
  return found != reached_.end() &&
         std::all_of(placement_.choice().members().begin(), placement_.choice().members().end(),
                     [&](const auto& member) { return found->second.contains(member.first); });
}

// It did not follow in time, and keeps what it owns.
bool ShardMoves::Waits(WorkerId worker, uint64_t version) const {
  const auto waits = not_before_.find(worker);
  return waits != not_before_.end() && version < waits->second;
}

double ShardMoves::WeightOf(WorkerId worker) const {
  if (const auto known = weights_.find(worker); known != weights_.end()) return known->second;
  const bool serves = worker >= placement_.choice().rules().workers;
  double sum = 0, count = 0;
  for (const auto& [other, weight] : weights_) {
    if ((other >= placement_.choice().rules().workers) != serves) continue;
    sum += weight;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

// How many shards each worker should own that may own any.
std::map<WorkerId, double> ShardMoves::Parts(uint64_t version) const {
  std::map<WorkerId, double> parts;
  double sum = 0;
  for (const auto& [worker, address] : placement_.choice().members()) {
    if (!placement_.choice().MayHold(worker, version)) continue;
    sum += parts[worker] = WeightOf(worker);
  }
  if (sum == 0) return {};
  for (auto& [worker, part] : parts) {
    part *= static_cast<double>(placement_.shards().size()) / sum;
  }
  return parts;
}

std::optional<ShardMoves::Move> ShardMoves::Start(uint64_t version) {
  // How far each worker is from its part: above 0, it lacks shards.
  std::map<WorkerId, double> lacks = Parts(version);
  if (lacks.empty()) return std::nullopt;
  const std::map<WorkerId, double> parts = lacks;
  for (const ShardPlacement::Shard& shard : placement_.shards()) --lacks[shard.owner];
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto from = std::min_element(lacks.begin(), lacks.end(), less);
  auto to = lacks.end();
  for (auto at = lacks.begin(); at != lacks.end(); ++at) {
    if (!parts.contains(at->first) || Waits(at->first, version)) continue;
    if (to == lacks.end() || less(*to, *at)) to = at;
  }
  // Otherwise a move brings both no nearer to their parts. Rounding is no reason to move.
  constexpr double kRounding = 1e-6;
  balanced_ = to == lacks.end() || to->second - from->second <= 1 + kRounding;
  if (balanced_) return std::nullopt;
  const uint32_t number = ShardToMove(from->first, to->first);
  const bool follows = placement_.shards()[number].followers.contains(to->first);
  const bool copies = !follows && !placement_.reads();
  if (copies && copied_ && version < *copied_ + kCopyEvery) return std::nullopt;
  going_ = {number, to->first, version};
  if (follows) return GoOn(version);
  if (copies) copied_ = version;
  return Move{Move::Kind::kFollow, number, to->first};
}

// If possible one that needs no copy, and one that the worker had at first: neighbouring shards
// have different owners then.
uint32_t ShardMoves::ShardToMove(WorkerId from, WorkerId to) const {
  std::optional<uint32_t> best;
  const auto rank = [&](uint32_t number) {
    const bool follows = placement_.shards()[number].followers.contains(to);
    return std::tuple(!follows, follows && placement_.coming().contains(number, to),
                      first_[number] != to);
  };
  for (uint32_t number = 0; number < first_.size(); ++number) {
    if (placement_.shards()[number].owner != from) continue;
    if (!best || rank(number) < rank(*best)) best = number;
  }
  return *best;
}

}  // namespace motley
