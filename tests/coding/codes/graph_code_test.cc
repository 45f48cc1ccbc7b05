// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/approximate.h"
#include "coding/decode/block_graph.h"
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct GraphCase {
  static constexpr const char* kName = "graph";
  static constexpr double kTolerance = 5e-7;
  static std::vector<CodeRequest> Requests() {
    std::vector<CodeRequest> requests;
    for (uint32_t n : {1, 2, 3, 4, 6, 8, 12}) {
      for (uint32_t s = 0; s < n; ++s) {
        if (n % (s + 1) == 0) requests.push_back(EqualRequest(n, s, 4 * n + 3));
      }
    }
    return requests;
  }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    ExpectEqualLoads(request, form);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Graph, CodeSuite, GraphCase);

TEST(GraphCode, WorkersThatAreLeftOverStillServeTheApproximateDecoder) {
  const CodeForm form = MustBuild("graph", EqualRequest(11, 2, 24));
  ASSERT_TRUE(Validate(form).ok()) << Validate(form).ToString();
  for (const auto& row : form.rows) EXPECT_EQ(row.size(), 8);  // Two of six blocks.
  Random random(1, Stream::kTest);
  for (const auto& set : StragglerSets(11, 2, 1000, random)) {
    EXPECT_TRUE(Solve(form, Without(form, set)).ok());
    EXPECT_LE(SolveApproximate(form, Without(form, set))->error, 1e-20);
  }
}

TEST(GraphCode, IsAnExpander) {
  // 2 sqrt(d - 1) is the least possible value as n grows (Alon and Boppana): 2.83 for d = 3. A
  // cycle with a matching of neighbours would have 3.
  const CodeForm form = MustBuild("graph", EqualRequest(60, 2, 60));
  const BlockGraph graph = GraphOf(form).value();
  ASSERT_EQ(graph.sizes.size(), 40);
  std::vector<double> x(40);
  Random random(2, Stream::kTest);
  for (double& value : x) value = random.Normal();
  double growth = 0;
  for (int step = 0; step < 300; ++step) {
    double mean = 0;
    for (double value : x) mean += value / 40;
    double norm = 0;
    for (double& value : x) norm += (value - mean) * (value - mean);
    std::vector<double> next(40, 0);
    for (const auto& [u, v] : graph.edges) {
      next[u] += (x[v] - mean) / std::sqrt(norm);
      next[v] += (x[u] - mean) / std::sqrt(norm);
    }
    growth = 0;
    for (double value : next) growth += value * value;
    x = next;
  }
  EXPECT_LE(std::sqrt(growth), 2.9);
}

// A random multigraph with blocks of unequal size and some workers with a single block.
CodeForm RandomGraphForm(uint32_t vertices, uint32_t edges, Random& random) {
  CodeForm form;
  form.name = "random graph";
  form.workers = edges;
  std::vector<PartitionId> begin{0};
  for (uint32_t v = 0; v < vertices; ++v) {
    begin.push_back(begin.back() + 1 + static_cast<PartitionId>(random.Below(4)));
  }
  form.partitions = begin.back();
  for (uint32_t e = 0; e < edges; ++e) {
    const uint64_t u = random.Below(vertices);
    const uint64_t v = random.Below(vertices);
    std::vector<CodeEntry> row;
    for (uint64_t block : {std::min(u, v), std::max(u, v)}) {
      if (block == v && u == v && !row.empty()) break;
      for (PartitionId p = begin[block]; p < begin[block + 1]; ++p) row.push_back({p, 1});
    }
    form.rows.push_back(std::move(row));
  }
  return form;
}

TEST(BlockGraph, ComponentsGiveTheLeastSquares) {
  Random random(7, Stream::kTest);
  int graphs = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto vertices = static_cast<uint32_t>(1 + random.Below(14));
    const auto edges = static_cast<uint32_t>(1 + random.Below(20));
    const CodeForm form = RandomGraphForm(vertices, edges, random);
    std::vector<bool> present(edges);
    for (uint32_t e = 0; e < edges; ++e) present[e] = random.Chance(0.7);
    const auto graph = GraphOf(form);
    if (!graph) continue;
    ++graphs;
    const auto fast = SolveApproximate(form, present).value();
    const auto best = SolveLeastSquares(form, present).value();
    ASSERT_NEAR(fast.error, best.error, 1e-9);
    ASSERT_NEAR(fast.mean_coverage, best.mean_coverage, 1e-9);
    for (uint32_t e = 0; e < edges; ++e) {
      EXPECT_TRUE(present[e] || fast.a[e] == Complex(0));
    }
  }
  EXPECT_GE(graphs, 1000);
}

TEST(BlockGraph, WeightsStaySmallOnLargeGraphs) {
  const CodeForm form = MustBuild("graph", EqualRequest(3000, 2, 3000));
  Random random(9, Stream::kTest);
  for (double p : {0.0, 0.1, 0.3}) {
    std::vector<bool> present(3000);
    for (size_t e = 0; e < 3000; ++e) present[e] = !random.Chance(p);
    const auto decoding = SolveApproximate(form, present).value();
    double largest = 0;
    for (const Complex& a : decoding.a) largest = std::max(largest, std::abs(a));
    EXPECT_LE(largest, p == 0 ? 0.34 : 100.0);
    EXPECT_NEAR(decoding.error, p * p * p, 0.6 * p * p * p + 1e-12) << p;
  }
}

TEST(BlockGraph, OtherCodesAreNoGraphs) {
  EXPECT_FALSE(GraphOf(MustBuild("rs", EqualRequest(6, 1, 12))).has_value());
  EXPECT_FALSE(GraphOf(MustBuild("repetition", UnequalRequest(6, 1, 50, 3))).has_value());
  EXPECT_TRUE(GraphOf(MustBuild("repetition", EqualRequest(6, 1, 12))).has_value());
}

}  // namespace
}  // namespace motley
