// SPDX-License-Identifier: Apache-2.0
#include "profiles/shard_shares.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr int kHalvings = 45;
constexpr double kGolden = 0.6180339887498949;
constexpr int kGoldenCuts = 40;
constexpr double kEndless = std::numeric_limits<double>::infinity();

// What passes a direction of a node's link: so many vectors whatever it owns, and so many more per
// part that it owns.
struct Load {
  double fixed = 0, per_share = 0;

  double At(double share) const { return fixed + per_share * share; }
  Load operator+(const Load& other) const {
    return {fixed + other.fixed, per_share + other.per_share};
  }
};

// The least and the most that a node may own.
struct Bounds {
  double least = 0, most = 1;
};

// Narrows the bounds to the shares with which the link carries the load in time. `vectors` is how
// many it can carry.
void Narrow(const Load& load, double vectors, Bounds& bounds) {
  const double left = vectors - load.fixed;
  if (load.per_share > 0) {
    bounds.most = std::min(bounds.most, left / load.per_share);
  } else if (load.per_share < 0) {
    bounds.least = std::max(bounds.least, left / load.per_share);
  } else if (left < 0) {
    bounds.most = -1;
  }
}

struct NodeLoads {
  Load push_up, push_down, pull_up, pull_down;
};

class Nodes {
 public:
  explicit Nodes(const Exchange& exchange) : exchange_(exchange) {
    const auto n = static_cast<double>(exchange.workers.size());
    const double answers = exchange.responders == 0 ? n : exchange.responders;
    const double part = 1.0 / exchange.parts;
    const double sums = exchange.followers;
    const double readers = n + exchange.idle_readers;
    worker_ = {{part, sums - part},
               {0, part * std::min(answers, n - 1) + sums},
               {0, readers - 1},
               {1, -1}};
    server_ = {{0, sums}, {0, part * answers + sums}, {0, readers}, {0, 0}};
    const auto& may = exchange.may_own;
    const bool any = may.empty() || std::find(may.begin(), may.end(), true) != may.end();
    some_may_own_ = any || !exchange.servers.empty();
  }

  size_t size() const { return exchange_.nodes(); }
  bool IsWorker(size_t node) const { return node < exchange_.workers.size(); }
  NodeLoads LoadsOf(size_t node) const {
    if (IsWorker(node)) return worker_;
    NodeLoads loads = server_;
    const std::vector<double>& reads = exchange_.servers_read;
    if (!reads.empty()) loads.pull_up.per_share -= reads[node - exchange_.workers.size()];
    return loads;
  }
  // Vectors per second; infinite: no limit.
  double Up(size_t node) const { return Rate(LinkOf(node).up); }
  double Down(size_t node) const { return Rate(LinkOf(node).down); }
  bool MayOwn(size_t node) const {
    if (!IsWorker(node) || exchange_.may_own.empty() || !some_may_own_) return true;
    return exchange_.may_own[node];
  }

 private:
  const NodeLink& LinkOf(size_t node) const {
    return IsWorker(node) ? exchange_.workers[node]
                          : exchange_.servers[node - exchange_.workers.size()];
  }
  double Rate(double bytes_per_second) const {
    if (bytes_per_second <= 0 || exchange_.bytes <= 0) return kEndless;
    return bytes_per_second / exchange_.bytes;
  }

  const Exchange& exchange_;
  NodeLoads worker_, server_;
  bool some_may_own_ = true;
};

// What the node may own if push and pull take so long. If slices stream, both have all of the time.
Bounds BoundsWithin(const Nodes& nodes, size_t node, bool streams, double push, double pull) {
  const NodeLoads loads = nodes.LoadsOf(node);
  const double up = nodes.Up(node), down = nodes.Down(node);
  Bounds bounds = {0, nodes.MayOwn(node) ? 1.0 : 0.0};
  if (streams) {
    Narrow(loads.push_up + loads.pull_up, push * up, bounds);
    Narrow(loads.push_down + loads.pull_down, pull * down, bounds);
  } else {
    Narrow(loads.push_up, push * up, bounds);
    Narrow(loads.push_down, push * down, bounds);
    Narrow(loads.pull_up, pull * up, bounds);
    Narrow(loads.pull_down, pull * down, bounds);
  }
  return bounds;
}

double Sum(const ShardShares& shares) { return std::accumulate(shares.begin(), shares.end(), 0.0); }

// Makes the shares add up to 1.
void Complete(ShardShares& shares) {
  const double sum = Sum(shares);
  for (double& share : shares) share /= sum;
}

// The least number of seconds for which `enough` holds, from above.
template <class Enough>
double LeastSeconds(const Enough& enough) {
  double low = 0, high = 1e-6;
  for (; !enough(high); high *= 2) low = high;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

// The bounds of all nodes; empty if no shares within them add up to 1.
std::vector<Bounds> Within(const Nodes& nodes, bool streams, double push, double pull) {
  std::vector<Bounds> all(nodes.size());
  double least = 0, most = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = BoundsWithin(nodes, i, streams, push, pull);
    if (all[i].least > all[i].most) return {};
    least += all[i].least;
    most += all[i].most;
  }
  if (least > 1 || most < 1) return {};
  return all;
}

ShardShares Streaming(const Nodes& nodes) {
  const double seconds =
      LeastSeconds([&](double time) { return !Within(nodes, true, time, time).empty(); });
  const std::vector<Bounds> bounds = Within(nodes, true, seconds, seconds);
  ShardShares shares(nodes.size());
  const auto fill = [&](double level) {
    for (size_t i = 0; i < shares.size(); ++i) {
      shares[i] = std::max(bounds[i].least, BoundsWithin(nodes, i, true, level, level).most);
    }
    return Sum(shares) >= 1;
  };
  fill(LeastSeconds(fill));
  Complete(shares);
  return shares;
}

// The seconds of the whole exchange are quasiconvex in the part of them that the push has, because
// the pairs of times that suffice are a convex set.
ShardShares InTurns(const Nodes& nodes) {
  const auto seconds_with = [&](double part) {
    return LeastSeconds([&](double seconds) {
      return !Within(nodes, false, part * seconds, (1 - part) * seconds).empty();
    });
  };
  double low = 0, high = 1;
  double left = high - kGolden, right = low + kGolden;
  double at_left = seconds_with(left), at_right = seconds_with(right);
  for (int i = 0; i < kGoldenCuts; ++i) {
    if (at_left <= at_right) {
      high = std::exchange(right, left);
      at_right = at_left;
      left = high - kGolden * (high - low);
      at_left = seconds_with(left);
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      right = low + kGolden * (high - low);
      at_right = seconds_with(right);
    }
  }
  const double part = (low + high) / 2, seconds = seconds_with(part);
  const std::vector<Bounds> bounds = Within(nodes, false, part * seconds, (1 - part) * seconds);
  double least = 0, most = 0;
  for (const Bounds& each : bounds) {
    least += each.least;
    most += each.most;
  }
  const double between = most > least ? (1 - least) / (most - least) : 0;
  ShardShares shares;
  for (const Bounds& each : bounds) {
    shares.push_back(each.least + between * (each.most - each.least));
  }
  Complete(shares);
  return shares;
}

double TimeOf(double vectors, double per_second) {
  return vectors > 0 && per_second < kEndless ? vectors / per_second : 0;
}

}  // namespace

std::vector<NodeLink> WorkerLinksOf(const ClusterProfile& profile) {
  std::vector<NodeLink> links;
  links.reserve(profile.workers.size());
  for (const WorkerProfile& worker : profile.workers) {
    links.push_back({worker.link.Up().bytes_per_second, worker.link.Down().bytes_per_second});
  }
  return links;
}

NodeLink LinkOf(const ServerRates& server) { return {.up = server.out, .down = server.in}; }

ShardShares SharesFor(const Exchange& exchange) {
  MOTLEY_ASSERT(!exchange.workers.empty() && exchange.parts > 0);
  const Nodes nodes(exchange);
  const size_t n = exchange.workers.size();
  // A server would only add to what links carry.
  ShardShares shares(nodes.size(), 0);
  for (size_t i = 0; i < n; ++i) shares[i] = nodes.MayOwn(i) ? 1 : 0;
  const bool all_the_same = n == 2 && exchange.streams && exchange.parts == 1;
  if ((n > 1 && !all_the_same) || exchange.followers > 0 || Sum(shares) == 0) {
    return exchange.streams ? Streaming(nodes) : InTurns(nodes);
  }
  Complete(shares);
  return shares;
}

NodeLink MeanLink(const std::vector<NodeLink>& links) {
  NodeLink mean;
  for (const NodeLink& link : links) {
    mean.up += link.up / static_cast<double>(links.size());
    mean.down += link.down / static_cast<double>(links.size());
  }
  return mean;
}

std::vector<NodeSeconds> NodeSecondsOf(const Exchange& exchange, const ShardShares& shares) {
  const Nodes nodes(exchange);
  MOTLEY_ASSERT(shares.size() == nodes.size());
  std::vector<NodeSeconds> all;
  all.reserve(shares.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeLoads loads = nodes.LoadsOf(i);
    const double x = shares[i], up = nodes.Up(i), down = nodes.Down(i);
    all.push_back({.sends = TimeOf(loads.push_up.At(x), up),
                   .sums = TimeOf(loads.push_down.At(x), down),
                   .publishes = TimeOf(loads.pull_up.At(x), up),
                   .receives = TimeOf(loads.pull_down.At(x), down)});
  }
  return all;
}

ExchangeSeconds SecondsOf(const Exchange& exchange, const ShardShares& shares) {
  ExchangeSeconds seconds;
  double both = 0;
  for (const NodeSeconds& node : NodeSecondsOf(exchange, shares)) {
    seconds.push = std::max({seconds.push, node.sends, node.sums});
    seconds.pull = std::max({seconds.pull, node.publishes, node.receives});
    both = std::max({both, node.sends + node.publishes, node.sums + node.receives});
  }
  seconds.total = exchange.streams ? both : seconds.push + seconds.pull;
  return seconds;
}

ExchangeSeconds StarSeconds(const Exchange& exchange, const NodeLink& server) {
  Exchange star = exchange;
  star.servers = {server};
  star.followers = star.idle_readers = 0;
  star.servers_read.clear();
  ShardShares shares(star.nodes(), 0);
  shares.back() = 1;
  return SecondsOf(star, shares);
}

ExchangeSeconds StarSeconds(const Exchange& exchange, size_t beside) {
  Exchange star = exchange;
  star.servers.clear();
  star.followers = star.idle_readers = 0;
  star.servers_read.clear();
  ShardShares shares(star.nodes(), 0);
  shares[beside] = 1;
  return SecondsOf(star, shares);
}

}  // namespace motley
