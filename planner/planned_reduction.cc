// SPDX-License-Identifier: Apache-2.0
#include "planner/planned_reduction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace motley {
namespace {

// By worker: what it counts among the idle readers of Exchange.
std::vector<double> IdleReaders(const std::vector<NodeLink>& workers,
                                const std::vector<bool>& among) {
  double widest = 0;
  bool unlimited = false;
  for (size_t w = 0; w < among.size(); ++w) {
    if (!among[w]) continue;
    widest = std::max(widest, workers[w].down);
    unlimited = unlimited || workers[w].down == 0;
  }
  std::vector<double> idle(among.size(), 0);
  for (size_t w = 0; w < among.size(); ++w) {
    if (among[w]) continue;
    const double down = workers[w].down;
    idle[w] = down == 0 ? 1 : unlimited ? 0 : std::min(1.0, down / widest);
  }
  return idle;
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The request for the workers that take part.
ReduceRequest Among(const ReduceRequest& all, const std::vector<bool>& among) {
  ReduceRequest request = all;
  request.exchange.workers.clear();
  for (size_t w = 0; w < among.size(); ++w) {
    if (among[w]) request.exchange.workers.push_back(all.exchange.workers[w]);
  }
  request.exchange.idle_readers = Sum(IdleReaders(all.exchange.workers, among));
  return request;
}

// The same with these workers. The others own what they own, as servers do.
OwnedVector Among(const OwnedVector& all, const std::vector<bool>& among) {
  const std::vector<NodeLink>& workers = all.exchange.workers;
  OwnedVector part{all.exchange, {}};
  part.exchange.workers.clear();
  part.exchange.servers.clear();
  part.exchange.may_own.clear();
  const std::vector<double> idle = IdleReaders(workers, among);
  part.exchange.idle_readers = Sum(idle);
  for (const bool takes_part : {true, false}) {
    for (size_t w = 0; w < workers.size(); ++w) {
      if (among[w] != takes_part || (!takes_part && all.shares[w] == 0)) continue;
      (takes_part ? part.exchange.workers : part.exchange.servers).push_back(workers[w]);
      if (!takes_part) part.exchange.servers_read.push_back(idle[w]);
      part.shares.push_back(all.shares[w]);
    }
  }
  for (size_t i = 0; i < all.exchange.servers.size(); ++i) {
    part.exchange.servers.push_back(all.exchange.servers[i]);
    part.exchange.servers_read.push_back(0);
    part.shares.push_back(all.shares[workers.size() + i]);
  }
  return part;
}

OwnedVector StarOf(const ReduceRequest& request) {
  OwnedVector star{request.exchange, {}};
  star.exchange.servers = {request.coordinator};
  star.exchange.followers = star.exchange.idle_readers = 0;
  star.shares.assign(star.exchange.nodes(), 0);
  star.shares.back() = 1;
  return star;
}

// The times of a link that all share, per vector, and of the workers' own links.
struct LinkTimes {
  double message = 0, start = 0;
  std::vector<double> sends, receives;  // By worker that takes part.
};

LinkTimes TimesOf(const Exchange& exchange, const ShardShares& shares) {
  const std::vector<NodeSeconds> nodes = NodeSecondsOf(exchange, shares);
  const ExchangeSeconds whole = SecondsOf(exchange, shares);
  const auto n = static_cast<double>(exchange.workers.size());
  const double parts = exchange.parts;  // The step model cuts vectors itself.
  LinkTimes times;
  for (size_t i = 0; i < nodes.size(); ++i) {
    times.message = std::max(times.message, parts * nodes[i].sums / n);
    times.start = std::max(times.start, nodes[i].publishes / n);
    if (i >= exchange.workers.size()) continue;
    times.sends.push_back(parts * nodes[i].sends);
    times.receives.push_back(exchange.streams ? 0 : nodes[i].receives);
  }
  if (exchange.streams) times.start = std::max(0.0, whole.total - whole.push) / n;
  return times;
}

}  // namespace

ReduceRequest ReductionOf(const ClusterProfile& profile, double vector_bytes,
                          const ReduceMode& mode, const PlannedJob& job) {
  ReduceRequest request;
  request.mode = mode;
  request.coordinator = LinkOf(ServerRatesOf(profile));
  request.exchange.workers = WorkerLinksOf(profile);
  request.exchange.servers.assign(mode.servers, request.coordinator);
  request.exchange.bytes = BytesOnWire(job.wire, vector_bytes);
  // Sums for followers travel as float32. Workers follow where there are too few shard servers.
  const bool read = !job.state && job.wire == WireFormat::kFloat32 && mode.servers == 0;
  const auto others = static_cast<double>(profile.workers.size() + mode.servers) - 1;
  const double followers = read ? 0 : std::min<double>(job.followers, others);
  request.exchange.followers = followers * vector_bytes / request.exchange.bytes;
  request.slice_bytes = BytesOnWire(job.wire, request.slice_bytes);
  request.floats = std::max<uint64_t>(1, std::llround(vector_bytes / sizeof(float)));
  for (const WorkerProfile& worker : profile.workers) {
    const double both = worker.link.Up().latency_seconds + worker.link.Down().latency_seconds;
    request.latency_seconds = std::max(request.latency_seconds, both / 2);
  }
  return request;
}

ServerRates RatesOfServers(const ClusterProfile& profile, const ReduceMode& mode) {
  const ServerRates one = ServerRatesOf(profile);
  const double servers = std::max(mode.servers, 1U);
  return {.in = servers * one.in, .out = servers * one.out};
}

Result<ReduceChoice> ReductionAmong(const PlannedCluster& cluster, const std::vector<bool>& among) {
  MOTLEY_ASSERT(cluster.reduction.has_value());
  return ChooseReduction(Among(*cluster.reduction, among));
}

Result<double> ExchangeAmong(const PlannedCluster& cluster, const std::vector<bool>& among) {
  if (cluster.owned) {
    const OwnedVector owned = Among(*cluster.owned, among);
    return SecondsOf(owned.exchange, owned.shares).total;
  }
  MOTLEY_ASSIGN_OR_RETURN(const ReduceChoice choice, ReductionAmong(cluster, among));
  return choice.cost.Total();
}

Result<PlannedCluster> WithReduction(const PlannedCluster& cluster, const std::vector<bool>& among,
                                     uint32_t parts) {
  OwnedVector owned;
  double latency = 0;
  bool star = false;
  if (cluster.owned) {
    owned = Among(*cluster.owned, among);
    for (const PlannedWorker& worker : cluster.workers) {
      latency = std::max(latency, worker.latency_seconds);
    }
  } else {
    MOTLEY_ASSIGN_OR_RETURN(const ReduceChoice choice, ReductionAmong(cluster, among));
    const ReduceRequest request = Among(*cluster.reduction, among);
    star = choice.kind == Reduce::kStar;
    owned = star ? StarOf(request)
                 : OwnedVector{request.exchange, SharesOf(choice.ranges, request.exchange.nodes())};
    latency = request.latency_seconds;
  }
  owned.exchange.parts = parts;
  const LinkTimes times = TimesOf(owned.exchange, owned.shares);
  PlannedCluster placed = cluster;
  const bool commits = !star && !owned.exchange.streams;
  placed.commit_seconds = commits ? 2 * latency : 0;
  size_t next = 0;
  for (size_t w = 0; w < among.size(); ++w) {
    if (!among[w]) continue;
    PlannedWorker& worker = placed.workers[w];
    worker.message_seconds = times.message;
    worker.server_send_seconds = times.start;
    worker.send_seconds = std::max(0.0, times.sends[next] - times.message);
    worker.receive_seconds = times.receives[next++];
  }
  return placed;
}

}  // namespace motley
