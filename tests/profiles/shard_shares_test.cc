// SPDX-License-Identifier: Apache-2.0
#include "profiles/shard_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

std::vector<NodeLink> Links(const std::vector<double>& rates) {
  std::vector<NodeLink> links;
  for (const double rate : rates) links.push_back({rate, rate});
  return links;
}

Exchange Of(const std::vector<double>& workers, const std::vector<double>& servers = {}) {
  Exchange exchange;
  exchange.workers = Links(workers);
  exchange.servers = Links(servers);
  exchange.bytes = 1;
  exchange.streams = true;
  return exchange;
}

double Best(const Exchange& exchange) { return SecondsOf(exchange, SharesFor(exchange)).total; }

void ExpectShares(const ShardShares& shares) {
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
  for (const double share : shares) EXPECT_GE(share, 0);
}

// --- A linear program, solved at its vertices ---

// a[0] x[0] + ... + a[d - 1] x[d - 1] >= b
struct AtLeast {
  std::vector<double> a;
  double b;
};

// Solves the equations a x = b. Empty: no unique solution.
std::vector<double> Solve(std::vector<AtLeast> rows) {
  const size_t d = rows.size();
  for (size_t c = 0; c < d; ++c) {
    size_t pivot = c;
    for (size_t r = c; r < d; ++r) {
      if (std::abs(rows[r].a[c]) > std::abs(rows[pivot].a[c])) pivot = r;
    }
    if (std::abs(rows[pivot].a[c]) < 1e-9) return {};
    std::swap(rows[c], rows[pivot]);
    for (size_t r = 0; r < d; ++r) {
      if (r == c) continue;
      const double factor = rows[r].a[c] / rows[c].a[c];
      for (size_t k = c; k < d; ++k) rows[r].a[k] -= factor * rows[c].a[k];
      rows[r].b -= factor * rows[c].b;
    }
  }
  std::vector<double> x(d);
  for (size_t c = 0; c < d; ++c) x[c] = rows[c].b / rows[c].a[c];
  return x;
}

// The least value of cost x at the vertices, where `equal` always holds with equality.
double LeastCost(const AtLeast& equal, const std::vector<AtLeast>& rows,
                 const std::vector<double>& cost) {
  const size_t d = cost.size();
  double least = std::numeric_limits<double>::infinity();
  std::vector<bool> chosen(rows.size(), false);
  std::fill(chosen.begin(), chosen.begin() + static_cast<ptrdiff_t>(d - 1), true);
  do {
    std::vector<AtLeast> tight = {equal};
    for (size_t i = 0; i < rows.size(); ++i) {
      if (chosen[i]) tight.push_back(rows[i]);
    }
    const std::vector<double> x = Solve(tight);
    if (x.empty()) continue;
    const bool valid = std::all_of(rows.begin(), rows.end(), [&](const AtLeast& row) {
      return std::inner_product(x.begin(), x.end(), row.a.begin(), 0.0) >= row.b - 1e-9;
    });
    if (valid) least = std::min(least, std::inner_product(x.begin(), x.end(), cost.begin(), 0.0));
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return least;
}

// The least time of an exchange, by the table of profiles/shard_shares.h.
double ByProgram(const Exchange& exchange) {
  const size_t w = exchange.workers.size(), nodes = exchange.nodes();
  const auto n = static_cast<double>(w);
  const double answers = exchange.responders == 0 ? n : exchange.responders;
  const double f = 1.0 / exchange.parts;
  const size_t times = exchange.streams ? 1 : 2;
  std::vector<AtLeast> rows;
  // time[which] * rate - per_share * x[i] >= fixed
  const auto add = [&](size_t i, size_t which, double rate, double fixed, double per_share) {
    AtLeast row = {std::vector<double>(nodes + times, 0), fixed};
    row.a[i] = -per_share;
    row.a[nodes + which] = rate;
    rows.push_back(row);
  };
  for (size_t i = 0; i < nodes; ++i) {
    const bool worker = i < w;
    const NodeLink& link = worker ? exchange.workers[i] : exchange.servers[i - w];
    const double sum = worker ? f * std::min(answers, n - 1) : f * answers;
    const double one = worker ? 1 : 0, spread = worker ? n - 1 : n;
    const double copies = exchange.followers;
    if (exchange.streams) {
      add(i, 0, link.up, one * f, spread + copies - one * f);
      add(i, 0, link.down, one, sum + copies - one);
    } else {
      add(i, 0, link.up, one * f, copies - one * f);
      add(i, 0, link.down, 0, sum + copies);
      add(i, 1, link.up, 0, spread);
      add(i, 1, link.down, one, -one);
    }
    AtLeast not_negative = {std::vector<double>(nodes + times, 0), 0};
    not_negative.a[i] = 1;
    rows.push_back(not_negative);
    if (worker && !exchange.may_own.empty() && !exchange.may_own[i]) {
      not_negative.a[i] = -1;
      rows.push_back(not_negative);
    }
  }
  AtLeast all = {std::vector<double>(nodes + times, 0), 1};
  std::fill(all.a.begin(), all.a.begin() + static_cast<ptrdiff_t>(nodes), 1);
  std::vector<double> cost(nodes + times, 0);
  std::fill(cost.begin() + static_cast<ptrdiff_t>(nodes), cost.end(), 1);
  return LeastCost(all, rows, cost);
}

double DrawnRate(Random& random) { return std::exp(4 * random.NextDouble() - 2); }

Exchange Drawn(Random& random, uint32_t most_nodes, bool streams) {
  Exchange exchange;
  exchange.bytes = 1;
  exchange.streams = streams;
  const auto nodes = static_cast<uint32_t>(1 + random.Below(most_nodes));
  const auto servers = static_cast<uint32_t>(random.Below(nodes));
  const bool symmetric = random.Chance(0.5);
  for (uint32_t i = 0; i < nodes; ++i) {
    NodeLink link = {DrawnRate(random), DrawnRate(random)};
    if (symmetric) link.down = link.up;
    (i < servers ? exchange.servers : exchange.workers).push_back(link);
  }
  if (random.Chance(0.3)) exchange.followers = 1;
  if (random.Chance(0.3)) exchange.parts = static_cast<uint32_t>(1 + random.Below(4));
  if (random.Chance(0.3)) {
    exchange.responders = static_cast<uint32_t>(1 + random.Below(exchange.workers.size()));
  }
  if (random.Chance(0.3)) {
    for (size_t i = 0; i < exchange.workers.size(); ++i) {
      exchange.may_own.push_back(i == 0 || random.Chance(0.5));
    }
  }
  return exchange;
}

TEST(ShardShares, TakeTheLeastTimeOfALinearProgramWhereSlicesStream) {
  Random random(1, Stream::kSimulation);
  for (int i = 0; i < 400; ++i) {
    const Exchange exchange = Drawn(random, 5, true);
    const ShardShares shares = SharesFor(exchange);
    ExpectShares(shares);
    const double least = ByProgram(exchange);
    EXPECT_NEAR(SecondsOf(exchange, shares).total, least, 1e-6 * std::max(1.0, least)) << i;
  }
}

TEST(ShardShares, TakeTheLeastTimeOfALinearProgramWherePullFollowsPush) {
  Random random(2, Stream::kSimulation);
  for (int i = 0; i < 200; ++i) {
    const Exchange exchange = Drawn(random, 3, false);
    const ShardShares shares = SharesFor(exchange);
    ExpectShares(shares);
    const double least = ByProgram(exchange);
    EXPECT_NEAR(SecondsOf(exchange, shares).total, least, 1e-6 * std::max(1.0, least)) << i;
  }
}

// --- Closed forms ---

TEST(ShardShares, TakeTheTimesOfTheFormula) {
  EXPECT_NEAR(Best(Of({10, 10, 1, 1})), 1.00, 1e-9);
  EXPECT_NEAR(Best(Of({10, 10, 10, 10, 1, 1, 1, 1})), 1.00, 1e-9);
  EXPECT_NEAR(Best(Of({10, 10, 10, 2.5})), 0.40, 1e-9);
  EXPECT_NEAR(Best(Of({1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1})), 14.0 / 11, 1e-9);
  EXPECT_NEAR(Best(Of({1, 1, 1, 1, 1, 1}, {10})), 1.00, 1e-9);
  EXPECT_NEAR(Best(Of({1, 1, 1, 1})), 1.50, 1e-9);
  EXPECT_NEAR(Best(Of({3, 5})), 1 / 3.0, 1e-9);
  EXPECT_EQ(Best(Of({3})), 0);
}

TEST(ShardShares, NeverTakeLongerThanTheClosedFormSays) {
  Random random(3, Stream::kSimulation);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> workers, servers;
    const auto n = static_cast<double>(3 + random.Below(8));
    double least = 1e9, sum = 0, server_sum = 0;
    for (double k = 0; k < n; ++k) {
      workers.push_back(DrawnRate(random));
      least = std::min(least, workers.back());
      sum += workers.back();
    }
    for (uint64_t k = random.Below(4); k > 0; --k) {
      servers.push_back(DrawnRate(random));
      server_sum += servers.back();
    }
    const double formula = std::max(1 / least, 2 * n * (n - 1) / (n * sum + (n - 2) * server_sum));
    EXPECT_NEAR(Best(Of(workers, servers)), formula, 1e-9 * formula) << i;
  }
}

TEST(ShardShares, FillLinksToALevel) {
  EXPECT_THAT(SharesFor(Of({10, 10, 1, 1})),
              Pointwise(DoubleNear(1e-9), std::vector<double>{0.5, 0.5, 0, 0}));
  // The level 6 / 15 carries 0.5 of the vector on a link of 5, and 0 on one of 2.5.
  EXPECT_THAT(SharesFor(Of({5, 5, 2.5, 2.5})),
              Pointwise(DoubleNear(1e-9), std::vector<double>{0.5, 0.5, 0, 0}));
  // The level 1 / 6 carries a third on each link of 10, and a link of 2.5 takes 0.4 without any.
  const ShardShares shares = SharesFor(Of({10, 10, 10, 2.5}));
  EXPECT_THAT(shares,
              Pointwise(DoubleNear(1e-9), std::vector<double>{1 / 3.0, 1 / 3.0, 1 / 3.0, 0}));
  EXPECT_THAT(SharesFor(Of({7, 7, 7})),
              Pointwise(DoubleNear(1e-9), std::vector<double>{1 / 3.0, 1 / 3.0, 1 / 3.0}));
}

TEST(ShardShares, DependOnlyOnTheLinksOfTheirNode) {
  const ShardShares there = SharesFor(Of({9, 4, 1, 6})), back = SharesFor(Of({6, 1, 4, 9}));
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(there[i], back[3 - i], 1e-9);
}

TEST(ShardShares, NodesWithoutALimitShareAllEvenly) {
  EXPECT_THAT(SharesFor(Of({0, 3, 0})), ElementsAre(0.5, DoubleNear(0, 1e-12), 0.5));
  EXPECT_EQ(Best(Of({0, 0, 0})), 0);
  EXPECT_NEAR(Best(Of({0, 3, 0})), 1 / 3.0, 1e-12);
  Exchange exchange = Of({0, 3, 0});
  exchange.streams = false;
  EXPECT_LE(Best(exchange), 2 / 3.0 + 1e-12);
}

TEST(ShardShares, ALateWorkerOwnsNothing) {
  Exchange exchange = Of({10, 10, 10});
  exchange.may_own = {true, false, true};
  const ShardShares shares = SharesFor(exchange);
  EXPECT_THAT(shares, Pointwise(DoubleNear(1e-9), std::vector<double>{0.5, 0, 0.5}));
  EXPECT_NEAR(SecondsOf(exchange, shares).total, 0.15, 1e-9);
  // If all are late, and there is no server, they own everything as before.
  exchange.may_own = {false, false, false};
  EXPECT_EQ(SharesFor(exchange), SharesFor(Of({10, 10, 10})));
  exchange.servers = Links({1});
  EXPECT_THAT(SharesFor(exchange), Pointwise(DoubleNear(1e-12), std::vector<double>{0, 0, 0, 1}));
}

TEST(ShardShares, TwoWorkersOwnHalfEach) {
  EXPECT_THAT(SharesFor(Of({1, 10})), ElementsAre(0.5, 0.5));
  EXPECT_THAT(SharesFor(Of({1})), ElementsAre(1));
}

TEST(ShardShares, EqualLinksLoseNothingIfPullFollowsPush) {
  Exchange exchange = Of({1, 1, 1, 1});
  exchange.streams = false;
  EXPECT_NEAR(Best(exchange), 1.5, 1e-9);
  exchange = Of({10, 10, 1, 1});
  exchange.streams = false;
  // Every worker has to send three quarters, because it owns at most what it can pass on.
  EXPECT_NEAR(Best(exchange), 1.5, 1e-6);
}

TEST(Star, CarriesAllVectorsOverOneLink) {
  Exchange exchange = Of({1, 1, 1, 1});
  exchange.bytes = 10;
  EXPECT_NEAR(StarSeconds(exchange, NodeLink{2, 2}).total, 20, 1e-9);
  EXPECT_NEAR(StarSeconds(exchange, NodeLink{100, 100}).total, 10, 1e-9);
  exchange.streams = false;
  const ExchangeSeconds star = StarSeconds(exchange, NodeLink{2, 4});
  EXPECT_NEAR(star.push, 10, 1e-9);
  EXPECT_NEAR(star.pull, 20, 1e-9);
  EXPECT_NEAR(star.total, 30, 1e-9);
}

TEST(Star, OnAWorkersMachineCarriesOneVectorLess) {
  EXPECT_NEAR(StarSeconds(Of({2, 1, 1, 1}), size_t{0}).total, 1.5, 1e-9);
  EXPECT_NEAR(StarSeconds(Of({2, 1, 1, 1}), NodeLink{2, 2}).total, 2, 1e-9);
}

TEST(CodedAnswers, TakeThePushOfTheFormula) {
  Exchange exchange = Of({4, 4, 4, 4}, {1, 1});
  exchange.may_own = {false, false, false, false};
  exchange.responders = 3;
  exchange.parts = 2;
  exchange.streams = false;
  const ExchangeSeconds seconds = SecondsOf(exchange, SharesFor(exchange));
  EXPECT_NEAR(seconds.push, 3 / (2 * 2.0), 1e-6);
  EXPECT_NEAR(seconds.pull, 4 / 2.0, 1e-6);
  exchange.servers = Links({100, 100});
  EXPECT_NEAR(SecondsOf(exchange, SharesFor(exchange)).push, 1 / (2 * 4.0), 1e-6);
}

}  // namespace
}  // namespace motley
