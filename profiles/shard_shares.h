// SPDX-License-Identifier: Apache-2.0
// Divides a vector among the nodes that sum and publish it, by their links, and says how long
// exchanging it takes. Pure.
//
// In an exchange every worker sends the parts of its vector to their owners (push), and gets the
// new values of these parts back (pull). A node owns the part x of the vector, and all x add up to
// 1. With n workers, a vector of M bytes, answers cut to the part f = 1 / parts, R answers that an
// owner needs, i workers that only read, and the sums of each owner for its followers, which are F
// times as long as its part of the vector, a node's link carries so many times M bytes:
//
//                push, up          push, down                pull, up        pull, down
//     worker     f (1 - x) + F x   f min(R, n - 1) x + F x   (n - 1 + i) x   1 - x
//     server     F x               f R x + F x               (n + i) x       0
//
// (Owners follow each other, so a node is assumed to receive as many sums as it sends.) If owners
// publish each slice as soon as it is summed (`streams`), push and pull share the time T: up and
// down, a worker's link carries M (1 + (n - 2) x) if f = 1, R = n, i = 0 and F = 0. Owners with
// links b = min(up, down) are then filled up to a level L, which makes all x add up to 1:
//
//     worker  x = max(0, (L b / M - 1) / (n - 2))        server  x = L b / (n M)
//     T = max(L, M / min b over the workers)
//
// Both together are T = M max(1 / min b, 2n (n - 1) / (n sum_w b + (n - 2) sum_s b)), with sums
// over the links of workers and servers. No scheme that adds and forwards is faster (Hivemind's
// averaging for unequal links, BytePS (OSDI 2020) for equal ones). Workers beside the slowest one
// end sooner than T if they can. With two workers the shares make no difference, and are equal. One
// worker owns everything and T = 0.
//
// Otherwise parameters leave when the last slice is summed: T = push + pull, and the shares are
// those with the least sum. With equal links that takes as long as with slices that stream. A node
// outside all machines of workers that owns everything is the star: T = n M / b, or twice that.
//
//   links 10 10 1 1, M = 1     streams: x = 1/2 1/2 0 0, T = 1     otherwise: x = 1/4 each, T = 1.5
#pragma once

#include <cstdint>
#include <vector>

#include "profiles/profile.h"

namespace motley {

// A node's own link, in bytes per second; 0: unlimited.
struct NodeLink {
  double up = 0;    // From the node.
  double down = 0;  // To the node.

  bool operator==(const NodeLink&) const = default;
};

// No link: no limit.
NodeLink MeanLink(const std::vector<NodeLink>& links);

struct Exchange {
  std::vector<NodeLink> workers;
  // Nodes on machines without a worker. A server on a worker's machine has no link of its own, so
  // its share counts as the worker's.
  std::vector<NodeLink> servers;
  // By worker: false keeps it from owning a part. Empty, or false everywhere without a server: all
  // may own.
  std::vector<bool> may_own;
  double bytes = 0;
  uint32_t responders = 0;  // Answers that an owner needs; 0: one from each worker.
  uint32_t parts = 1;       // Answers are this many times shorter than the vector.
  // Workers that send no answers, and to which owners publish all the same. One whose link is
  // narrower than others counts less, because it skips versions.
  double idle_readers = 0;
  // By server: how much it counts among them, if it is one. It reads nothing from itself.
  std::vector<double> servers_read;
  // Sums for followers, in times of an owner's part. Sums may be longer than rounded vectors.
  double followers = 0;
  // Owners publish slice by slice. Jobs do not: they commit a step as a whole (decision 47).
  bool streams = false;

  size_t nodes() const { return workers.size() + servers.size(); }
};

// The links of a profile's workers, and of its server.
std::vector<NodeLink> WorkerLinksOf(const ClusterProfile& profile);
NodeLink LinkOf(const ServerRates& server);

// The parts that the nodes own, workers before servers.
using ShardShares = std::vector<double>;

// The shares with which the exchange takes the least time. At least one worker.
ShardShares SharesFor(const Exchange& exchange);

// How long the exchange occupies a node's link: the columns of the table above.
struct NodeSeconds {
  double sends = 0, sums = 0;          // Push, up and down.
  double publishes = 0, receives = 0;  // Pull, up and down.
};
// One for each node.
std::vector<NodeSeconds> NodeSecondsOf(const Exchange& exchange, const ShardShares& shares);

struct ExchangeSeconds {
  double push = 0;
  double pull = 0;
  double total = 0;  // push + pull, or less if slices stream.
};
ExchangeSeconds SecondsOf(const Exchange& exchange, const ShardShares& shares);

// The time of an exchange in which one node owns everything, and nobody follows it: a server with
// this link, or the server on the machine of worker `beside`.
ExchangeSeconds StarSeconds(const Exchange& exchange, const NodeLink& server);
ExchangeSeconds StarSeconds(const Exchange& exchange, size_t beside);

}  // namespace motley
