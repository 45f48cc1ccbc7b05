// SPDX-License-Identifier: Apache-2.0
// Simulated jobs whose workers sum the vector, against the step model of such steps.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/reports/job_report.h"
#include "cli/commands/simulation.h"
#include "fmt/core.h"
#include "planner/planner.h"
#include "planner/scheme_cost.h"
#include "profiles/ideal_step.h"

namespace motley {
namespace {

constexpr double kGigabit = 125e6;  // Bytes per second.

struct Link {
  double up = 1, down = 1;  // Gbit/s
};

// Workers of equal speed that compute for a tenth of a second in a step.
ClusterProfile ClusterOf(const std::vector<Link>& links, uint64_t gradient_bytes) {
  ClusterProfile cluster;
  cluster.name = "test";
  cluster.gradient_bytes = gradient_bytes;
  cluster.server = ServerRates{.in = kGigabit, .out = kGigabit};
  for (const Link& link : links) {
    WorkerProfile worker;
    worker.device.name = fmt::format("worker-{}", cluster.workers.size());
    worker.device.samples_per_second = 2560.0 / static_cast<double>(links.size());
    worker.link = {.latency_seconds = 2e-4,
                   .bytes_per_second = link.up * kGigabit,
                   .down = LinkDirection{2e-4, link.down * kGigabit}};
    cluster.workers.push_back(worker);
  }
  return cluster;
}

SimulateFlags FlagsFor(const std::string& reduce, const std::string& wire,
                       const std::string& optimizer) {
  SimulateFlags flags;
  flags.job.options.batch = 256;
  flags.job.options.steps = 60;
  flags.job.code = "none";
  flags.job.reduce = reduce;
  flags.job.wire = wire;
  flags.job.shares = "equal";
  flags.job.optimizer = optimizer;
  flags.job.quiet = true;
  return flags;
}

Result<SimSummary> Simulated(const ClusterProfile& cluster, const SimulateFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(Simulation sim, PrepareSimulation(flags, cluster));
  return RunSeeds(flags, sim, nullptr);
}

double PlannedSeconds(const ClusterProfile& profile, const std::string& reduce, WireFormat wire,
                      bool state) {
  PlannedJob job;
  job.state = state;
  job.samples = 256;
  job.reduce = *ParseReduce(reduce);
  job.wire = wire;
  PlannedCluster cluster = ClusterOf(profile, job);
  cluster.doubt = 0;
  PlanOptions options;
  options.partitions = PartitionsFor(cluster);
  const PlannedScheme planned = TryScheme({"none", 1}, cluster, options);
  EXPECT_EQ(planned.refused, "");
  return planned.cost.undisturbed;
}

class ReduceAgreement : public testing::TestWithParam<WireFormat> {};

TEST_P(ReduceAgreement, UndisturbedStepsTakeWhatTheStepModelSays) {
  const std::vector<std::vector<Link>> clusters = {
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{10, 10}, {10, 10}, {1, 1}, {1, 1}},
      {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 2}, {1, 2}, {1, 2}, {1, 2}},
  };
  for (const std::vector<Link>& links : clusters) {
    // With int8 most bytes are sums for followers. Owners of unequal parts get unequal sums, which
    // the step model leaves out.
    if (GetParam() == WireFormat::kInt8 && links.front().up != links.back().up) continue;
    const ClusterProfile cluster = ClusterOf(links, 100'000'000);
    const std::string wire = NameOf(GetParam());
    for (const bool state : {true, false}) {
      const std::string optimizer = state ? "momentum" : "sgd";
      const auto summary = Simulated(cluster, FlagsFor("direct", wire, optimizer));
      ASSERT_TRUE(summary.ok()) << summary.status().ToString();
      std::vector<double> steps = summary->step_seconds;
      steps.erase(steps.begin(), steps.begin() + 20);
      const double planned = PlannedSeconds(cluster, "direct", GetParam(), state);
      // The last sums for followers leave when no answers are left to be sent beside them. That
      // counts for more where answers are short and sums are not.
      const double most = GetParam() == WireFormat::kFloat32 ? 0.02 : 0.05;
      EXPECT_NEAR(Mean(steps) / planned, 1, most)
          << links.size() << " workers, the first has " << links[0].up << ", " << wire << ", "
          << optimizer;
      EXPECT_GT(Mean(steps), summary->ideal_seconds);
    }
  }
}

// Each shard server has a link like the server's.
TEST(ShardServersOfASimulation, TakeWhatTheStepModelSays) {
  const std::vector<Link> links(4, Link{1, 1});
  const ClusterProfile thin = ClusterOf(links, 100'000'000);
  ClusterProfile wide = thin;
  wide.server = ServerRates{.in = 10 * kGigabit, .out = 10 * kGigabit};
  for (const ClusterProfile& cluster : {thin, wide}) {
    for (const char* reduce : {"sharded:2", "sharded:4"}) {
      const auto summary = Simulated(cluster, FlagsFor(reduce, "float32", "momentum"));
      ASSERT_TRUE(summary.ok()) << summary.status().ToString();
      std::vector<double> steps = summary->step_seconds;
      steps.erase(steps.begin(), steps.begin() + 20);
      const double planned = PlannedSeconds(cluster, reduce, WireFormat::kFloat32, true);
      EXPECT_NEAR(Mean(steps) / planned, 1, 0.05)
          << reduce << ", " << cluster.server->in / kGigabit << " Gbit/s";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ReduceAgreement, testing::ValuesIn(kWireFormats),
                         [](const auto& test) { return NameOf(test.param); });

}  // namespace
}  // namespace motley
