// SPDX-License-Identifier: Apache-2.0
#include "sim/reproduce/matchings.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

// Finds a perfect matching by augmenting paths (Kuhn).
class Matcher {
 public:
  explicit Matcher(const ChunkOrder& left)
      : left_(left), worker_of_(left.size(), -1), tried_(left.size(), 0) {}

  // worker_of[chunk]; a regular bipartite graph always has one.
  const std::vector<int32_t>& Match() {
    for (uint32_t worker = 0; worker < left_.size(); ++worker) {
      round_ += 1;
      MOTLEY_ASSERT(Augment(worker));
    }
    return worker_of_;
  }

 private:
  bool Augment(uint32_t worker) {
    for (const uint32_t chunk : left_[worker]) {
      if (tried_[chunk] == round_) continue;
      tried_[chunk] = round_;
      if (worker_of_[chunk] < 0 || Augment(static_cast<uint32_t>(worker_of_[chunk]))) {
        worker_of_[chunk] = static_cast<int32_t>(worker);
        return true;
      }
    }
    return false;
  }

  const ChunkOrder& left_;
  std::vector<int32_t> worker_of_;
  std::vector<uint32_t> tried_;  // By chunk: in which round.
  uint32_t round_ = 0;
};

bool Contains(std::span<const uint32_t> values, uint32_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Joins stubs in random pairs; false when only forbidden pairs are left.
bool JoinStubs(std::vector<uint32_t> stubs, ChunkOrder& graph, Random& random) {
  constexpr int kTries = 200;
  while (!stubs.empty()) {
    bool joined = false;
    for (int attempt = 0; attempt < kTries && !joined; ++attempt) {
      const size_t i = random.Below(stubs.size());
      const size_t j = random.Below(stubs.size());
      const uint32_t a = stubs[i];
      const uint32_t b = stubs[j];
      if (a == b || Contains(graph[a], b)) continue;
      graph[a].push_back(b);
      graph[b].push_back(a);
      stubs.erase(stubs.begin() + static_cast<ptrdiff_t>(std::max(i, j)));
      stubs.erase(stubs.begin() + static_cast<ptrdiff_t>(std::min(i, j)));
      joined = true;
    }
    if (!joined) return false;
  }
  return true;
}

}  // namespace

ChunkOrder CyclicPlacement(uint32_t n, uint32_t copies) {
  ChunkOrder placement(n);
  for (uint32_t worker = 0; worker < n; ++worker) {
    for (uint32_t i = 0; i < copies; ++i) placement[worker].push_back((worker + i) % n);
  }
  return placement;
}

ChunkOrder GraphPlacement(uint32_t n, uint32_t copies, Random& random) {
  MOTLEY_ASSERT(copies < n && (uint64_t{n} * copies) % 2 == 0);
  std::vector<uint32_t> stubs;
  for (uint32_t vertex = 0; vertex < n; ++vertex) stubs.insert(stubs.end(), copies, vertex);
  for (;;) {
    ChunkOrder graph(n);
    if (JoinStubs(stubs, graph, random)) return graph;
  }
}

ChunkOrder OrderByMatchings(const ChunkOrder& placement) {
  ChunkOrder left = placement;
  ChunkOrder order(placement.size());
  while (!left.front().empty()) {
    Matcher matcher(left);
    const std::vector<int32_t>& worker_of = matcher.Match();
    for (uint32_t chunk = 0; chunk < worker_of.size(); ++chunk) {
      const auto worker = static_cast<size_t>(worker_of[chunk]);
      order[worker].push_back(chunk);
      std::erase(left[worker], chunk);
    }
  }
  return order;
}

}  // namespace motley
