// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/graph_code.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

constexpr int kDraws = 20;
constexpr int kPowerSteps = 60;

struct Edge {
  uint32_t u = 0;
  uint32_t v = 0;
  uint32_t matching = 0;
};

std::vector<uint32_t> RandomOrder(uint32_t vertices, Random& random) {
  std::vector<uint32_t> order(vertices);
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(std::span(order));
  return order;
}

// The edges of matchings 0, ..., degree - 1, then the edges outside of all matchings.
std::vector<Edge> DrawEdges(uint32_t vertices, uint32_t degree, uint32_t count, Random& random) {
  std::vector<Edge> edges;
  uint32_t matching = 0;
  for (; matching + 1 < degree; matching += 2) {
    const auto cycle = RandomOrder(vertices, random);
    for (uint32_t i = 0; i < vertices; ++i) {
      edges.push_back({cycle[i], cycle[(i + 1) % vertices], matching + i % 2});
    }
  }
  const auto order = RandomOrder(vertices, random);
  for (uint32_t i = 0; edges.size() < count; i = (i + 2) % vertices) {
    if (i == 0 && edges.size() >= size_t{vertices} / 2 * degree) matching = degree;
    edges.push_back({order[i], order[i + 1], matching});
  }
  return edges;
}

// The absolute value of the second eigenvalue of the adjacency matrix, by power iteration
// orthogonal to 1.
double SecondEigenvalue(uint32_t vertices, const std::vector<Edge>& edges, Random& random) {
  std::vector<double> x(vertices);
  for (double& value : x) value = random.Normal();
  double growth = 0;
  for (int step = 0; step < kPowerSteps; ++step) {
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / vertices;
    double norm = 0;
    for (double& value : x) {
      value -= mean;
      norm += value * value;
    }
    if (!(norm > 0)) return 0;
    std::vector<double> next(vertices, 0);
    for (const Edge& edge : edges) {
      next[edge.u] += x[edge.v];
      next[edge.v] += x[edge.u];
    }
    double grown = 0;
    for (double& value : next) {
      grown += value * value;
      value /= std::sqrt(norm);
    }
    growth = std::sqrt(grown / norm);
    x = std::move(next);
  }
  return growth;
}

std::vector<Edge> BestExpander(uint32_t vertices, const CodeRequest& request) {
  const auto workers = static_cast<uint32_t>(request.speeds.size());
  std::vector<Edge> best;
  double least = std::numeric_limits<double>::infinity();
  for (int draw = 0; draw < kDraws; ++draw) {
    Random random(request.seed, Stream::kCode, workers, draw);
    auto edges = DrawEdges(vertices, request.stragglers + 1, workers, random);
    // Workers with neighbouring numbers often fail together, so they get random edges.
    random.Shuffle(std::span(edges));
    const double eigenvalue = SecondEigenvalue(vertices, edges, random);
    if (eigenvalue < least) {
      least = eigenvalue;
      best = std::move(edges);
    }
  }
  return best;
}

}  // namespace

Result<CodeForm> BuildGraphCode(const CodeRequest& request) {
  CodeForm form = EmptyForm("graph", request);
  const uint32_t copies = form.stragglers + 1;
  const auto append = [&](uint32_t block, uint32_t blocks, RowId row) {
    AppendRun(GroupBegin(block, blocks, form.partitions),
              GroupBegin(block + 1, blocks, form.partitions), 1, form.rows[row]);
  };
  if (copies == 1) {
    for (RowId row = 0; row < form.workers; ++row) append(row, form.workers, row);
    Finish(form);
    return form;
  }
  const uint32_t blocks = 2 * (form.workers / copies);
  const std::vector<Edge> edges = BestExpander(blocks, request);
  std::vector<std::vector<WorkerId>> classes(copies);
  for (RowId row = 0; row < form.workers; ++row) {
    const auto [u, v, matching] = edges[row];
    append(std::min(u, v), blocks, row);
    append(std::max(u, v), blocks, row);
    if (matching < copies) classes[matching].push_back(row);
  }
  SetClasses(classes, form);
  Finish(form);
  return form;
}

}  // namespace motley
