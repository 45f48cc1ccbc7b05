// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/block_graph.h"

#include <map>

#include "base/assert.h"

namespace motley {
namespace {

using Edge = BlockGraph::Edge;

constexpr uint32_t kNone = UINT32_MAX;

struct GraphDecoder {
  GraphDecoder(const BlockGraph& from, const std::vector<bool>& present)
      : graph(from),
        incident(from.sizes.size()),
        weights(from.edges.size(), 0),
        missing(from.sizes.size(), 0),
        parent_edge(from.sizes.size(), kNone),
        sign(from.sizes.size(), 0) {
    for (uint32_t e = 0; e < graph.edges.size(); ++e) {
      if (!present[e]) continue;
      const auto [u, v] = graph.edges[e];
      incident[u].push_back(e);
      if (u != v) incident[v].push_back(e);
    }
  }

  uint32_t Other(uint32_t edge, uint32_t vertex) const {
    const auto [u, v] = graph.edges[edge];
    return u == vertex ? v : u;
  }

  double FirstGuess(uint32_t edge) const {
    const auto [u, v] = graph.edges[edge];
    return 0.5 / static_cast<double>(incident[u].size()) +
           0.5 / static_cast<double>(incident[v].size());
  }

  // Breadth first, with signs as colours; `odd` becomes an edge between equal colours.
  void Visit(uint32_t root) {
    order.assign(1, root);
    odd = kNone;
    sign[root] = 1;
    for (size_t next = 0; next < order.size(); ++next) {
      const uint32_t vertex = order[next];
      for (uint32_t edge : incident[vertex]) {
        const uint32_t other = Other(edge, vertex);
        if (sign[other] == 0) {
          sign[other] = -sign[vertex];
          parent_edge[other] = edge;
          order.push_back(other);
        } else if (sign[other] == sign[vertex]) {
          odd = edge;
        }
      }
    }
  }

  // Computes what each vertex of the component still lacks when every edge has its initial weight.
  void SetMissing() {
    double surplus = 0;
    double inverse = 0;
    for (uint32_t vertex : order) {
      surplus += sign[vertex];
      inverse += 1 / graph.sizes[vertex];
    }
    const double mu = odd == kNone ? surplus / inverse : 0;
    for (uint32_t vertex : order) {
      missing[vertex] = 1 - sign[vertex] * mu / graph.sizes[vertex];
      for (uint32_t edge : incident[vertex]) {
        weights[edge] = FirstGuess(edge);
        missing[vertex] -= weights[edge];
      }
    }
  }

  void Give(uint32_t edge, double amount) {
    const auto [u, v] = graph.edges[edge];
    weights[edge] += amount;
    missing[u] -= amount;
    if (u != v) missing[v] -= amount;
  }

  void Solve(uint32_t root) {
    Visit(root);
    SetMissing();
    if (odd != kNone) {
      // The remainder at the root is the signed sum; the odd edge has to take it.
      double left_over = 0;
      for (uint32_t vertex : order) left_over += sign[vertex] * missing[vertex];
      const auto [u, v] = graph.edges[odd];
      Give(odd, sign[u] * left_over / (u == v ? 1 : 2));
    }
    for (size_t i = order.size(); i-- > 1;) Give(parent_edge[order[i]], missing[order[i]]);
  }

  const BlockGraph& graph;
  std::vector<std::vector<uint32_t>> incident;  // Present edges.
  std::vector<double> weights;
  std::vector<double> missing;
  std::vector<uint32_t> parent_edge;
  std::vector<int> sign;        // 0 before the visit.
  std::vector<uint32_t> order;  // Vertices of the current component.
  uint32_t odd = kNone;
};

}  // namespace

std::optional<BlockGraph> GraphOf(const CodeForm& form) {
  std::vector<std::vector<RowId>> holders(form.partitions);
  for (RowId row = 0; row < form.workers; ++row) {
    for (const CodeEntry& entry : form.rows[row]) {
      if (entry.coefficient != Complex(1)) return std::nullopt;
      holders[entry.partition].push_back(row);
    }
  }
  BlockGraph graph;
  graph.edges.assign(form.workers, {kNone, kNone});
  std::map<std::vector<RowId>, uint32_t> block_of;
  for (const auto& rows : holders) {
    const auto [place, fresh] = block_of.emplace(rows, static_cast<uint32_t>(graph.sizes.size()));
    if (!fresh) {
      ++graph.sizes[place->second];
      continue;
    }
    graph.sizes.push_back(1);
    for (RowId row : rows) {
      Edge& edge = graph.edges[row];
      if (edge.u != kNone && edge.v != kNone) return std::nullopt;
      (edge.u == kNone ? edge.u : edge.v) = place->second;
    }
  }
  for (Edge& edge : graph.edges) {
    if (edge.u == kNone) return std::nullopt;
    if (edge.v == kNone) edge.v = edge.u;
  }
  return graph;
}

std::vector<double> DecodeGraph(const BlockGraph& graph, const std::vector<bool>& present) {
  MOTLEY_ASSERT(present.size() == graph.edges.size());
  GraphDecoder decoder(graph, present);
  for (uint32_t vertex = 0; vertex < graph.sizes.size(); ++vertex) {
    if (decoder.sign[vertex] == 0) decoder.Solve(vertex);
  }
  return std::move(decoder.weights);
}

}  // namespace motley
