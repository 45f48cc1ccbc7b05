// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr double kAllOfTheTime = 1 - 1e-6;
constexpr std::string_view kSharded = "sharded:";

double SlicesOf(double share, const ReduceRequest& request) {
  return std::ceil(share * request.exchange.bytes / std::max(request.slice_bytes, 1.0));
}

ReduceCost CostOfStar(const ReduceRequest& request) {
  ReduceCost cost;
  cost.exchange = request.beside ? StarSeconds(request.exchange, *request.beside)
                                 : StarSeconds(request.exchange, request.coordinator);
  const auto n = static_cast<double>(request.exchange.workers.size());
  cost.messages = 2 * request.latency_seconds +
                  2 * request.message_seconds * n * std::max(1.0, SlicesOf(1, request));
  return cost;
}

ReduceCost CostOfRanges(const ReduceRequest& request, const ShardShares& shares) {
  ReduceCost cost;
  cost.exchange = SecondsOf(request.exchange, shares);
  const auto n = static_cast<double>(request.exchange.workers.size());
  double all = 0;
  for (const double share : shares) all += SlicesOf(share, request);
  double most = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double own = SlicesOf(shares[i], request);
    const bool worker = i < request.exchange.workers.size();
    most = std::max(most, worker ? all - own + (n - 1) * own : n * own);
  }
  const double ways = request.exchange.streams ? 2 : 4;
  cost.messages = ways * request.latency_seconds + 2 * request.message_seconds * most;
  return cost;
}

// Empty unless the link of a worker that owns nothing takes all of the time.
std::optional<size_t> Narrowest(const Exchange& exchange, const ReduceChoice& choice) {
  Exchange placed = exchange;
  placed.servers.push_back({});  // The star, whose own link is in choice.cost.
  ShardShares shares(placed.nodes(), 0);
  if (choice.ranges.empty()) shares.back() = 1;
  for (const ShardRange& range : choice.ranges) shares[range.owner] = 1;  // Owns something.
  const std::vector<NodeSeconds> nodes = NodeSecondsOf(placed, shares);
  const double seconds = choice.cost.exchange.total;
  for (size_t i = 0; i < exchange.workers.size(); ++i) {
    const double own = exchange.streams ? std::max(nodes[i].sends, nodes[i].receives)
                                        : nodes[i].sends + nodes[i].receives;
    if (shares[i] == 0 && seconds > 0 && own >= kAllOfTheTime * seconds) return i;
  }
  return std::nullopt;
}

// Nodes that may own ranges.
struct Owners {
  Reduce kind;
  bool workers, servers;
};

// The same part for each node that may own one. Server processes come after the workers, and own
// everything if there are any.
ShardShares EqualShares(const Exchange& exchange) {
  const size_t n = exchange.workers.size();
  ShardShares shares(exchange.nodes(), exchange.servers.empty() ? 1 : 0);
  std::fill(shares.begin() + static_cast<ptrdiff_t>(n), shares.end(), 1);
  const std::vector<bool>& may = exchange.may_own;
  if (exchange.servers.empty() && std::find(may.begin(), may.end(), true) != may.end()) {
    shares.assign(may.begin(), may.end());
  }
  const double owning = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= owning;
  return shares;
}

ReduceChoice With(const ReduceRequest& request, const Owners& owners) {
  ReduceRequest part = request;
  const size_t n = part.exchange.workers.size();
  if (!owners.workers) part.exchange.may_own.assign(n, false);
  if (!owners.servers) part.exchange.servers.clear();
  ReduceChoice choice;
  choice.kind = owners.kind;
  choice.ranges = RangesFor(SharesFor(part.exchange), request.floats, request.rules);
  choice.cost = CostOfRanges(part, SharesOf(choice.ranges, part.exchange.nodes()));
  // Spare servers beside workers own what their links are worth.
  const bool mixed = owners.workers && !part.exchange.servers.empty();
  if (request.equal_within == 0 || mixed) return choice;
  ReduceChoice equal = choice;
  equal.ranges = RangesFor(EqualShares(part.exchange), request.floats, request.rules);
  equal.cost = CostOfRanges(part, SharesOf(equal.ranges, part.exchange.nodes()));
  const bool enough = equal.cost.Total() <= (1 + request.equal_within) * choice.cost.Total();
  return enough ? equal : choice;
}

// The placements of this kind, or of all kinds, except the star. A range for each of several nodes
// is the least for which it is worth leaving the star.
std::vector<ReduceChoice> Others(const ReduceRequest& request) {
  const Reduce kind = request.mode.kind;
  const bool servers = !request.exchange.servers.empty();
  std::vector<ReduceChoice> choices;
  if (servers && (kind == Reduce::kSharded || kind == Reduce::kAuto)) {
    choices.push_back(With(request, {Reduce::kSharded, false, true}));
  }
  if (kind == Reduce::kDirect || kind == Reduce::kAuto) {
    choices.push_back(With(request, {Reduce::kDirect, true, false}));
    if (servers) choices.push_back(With(request, {Reduce::kDirect, true, true}));
  }
  if (kind == Reduce::kAuto) {
    std::erase_if(choices, [](const ReduceChoice& choice) { return choice.ranges.size() < 2; });
  }
  return choices;
}

}  // namespace

Result<ReduceMode> ParseReduce(std::string_view text) {
  if (text == "auto") return ReduceMode{Reduce::kAuto};
  if (text == "star") return ReduceMode{Reduce::kStar};
  if (text == "direct") return ReduceMode{Reduce::kDirect};
  if (text.substr(0, kSharded.size()) == kSharded) {
    const std::string_view number = text.substr(kSharded.size());
    const char* const last = number.data() + number.size();
    uint32_t servers = 0;
    const auto [end, error] = std::from_chars(number.data(), last, servers);
    const bool valid = error == std::errc() && end == last && servers > 0;
    if (valid && servers <= kMostShardServers) {
      return ReduceMode{Reduce::kSharded, servers};
    }
    return Status::InvalidArgument(fmt::format(
        "'{}': after the colon write the number of server processes, 1 to {}, like sharded:4", text,
        kMostShardServers));
  }
  return Status::InvalidArgument(
      fmt::format("'{}' is no way to reduce: write auto, star, sharded:S or direct", text));
}

std::string NameOf(const ReduceMode& mode) {
  switch (mode.kind) {
    case Reduce::kAuto: return "auto";
    case Reduce::kStar: return "star";
    case Reduce::kSharded: return fmt::format("{}{}", kSharded, mode.servers);
    case Reduce::kDirect: break;
  }
  return "direct";
}

Result<ReduceChoice> ChooseReduction(const ReduceRequest& request) {
  const Exchange& exchange = request.exchange;
  MOTLEY_ASSERT(!exchange.workers.empty() && request.floats > 0);
  using Kind = ReduceReason::Kind;
  ReduceChoice star;
  star.cost = CostOfStar(request);
  std::vector<ReduceChoice> others = Others(request);
  const auto less = [](const ReduceChoice& a, const ReduceChoice& b) {
    return a.cost.Total() < b.cost.Total();
  };
  // A placement without more owners than needed comes first, and wins a draw.
  const auto best = std::min_element(others.begin(), others.end(), less);
  if (request.mode.kind == Reduce::kSharded && best == others.end()) {
    return Status::InvalidArgument(
        fmt::format("{}: there are no server processes", NameOf(request.mode)));
  }
  ReduceReason reason;
  reason.star = star.cost;
  if (best != others.end()) reason.other = best->cost;
  bool stays = request.mode.kind == Reduce::kStar;
  if (request.mode.kind == Reduce::kAuto) {
    const bool any = best != others.end();
    stays = !any || best->cost.Total() >= kWorthLeavingStar * star.cost.Total();
    const bool shorter =
        any && best->cost.exchange.total < kWorthLeavingStar * star.cost.exchange.total;
    reason.kind = !stays ? Kind::kFaster : shorter ? Kind::kMessages : Kind::kNoGain;
  }
  ReduceChoice chosen = stays ? std::move(star) : std::move(*best);
  reason.narrowest = Narrowest(exchange, chosen);
  chosen.reason = reason;
  return chosen;
}

}  // namespace motley
