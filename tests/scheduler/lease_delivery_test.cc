// SPDX-License-Identifier: Apache-2.0
// Tests jobs with leases whose worker reports a finished list but does not deliver it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/scheduler/job_figures.h"
#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

using ::testing::IsEmpty;

class LeaseDelivery : public testing::TestWithParam<uint32_t> {  // The parameter is the number of
                                                                 // tolerated workers.
 protected:
  // Mean time of the steps from the 100th on. `disturb` changes worker 3 of the four.
  template <typename Disturb>
  double MeanStep(Disturb disturb) {
    const uint64_t steps = 2000;
    VirtualCluster cluster(JobOf(4, "adaptive", steps, GetParam()), {40000, 40000, 40000, 80000},
                           1);
    disturb(cluster);
    cluster.Run(3600);
    EXPECT_THAT(cluster.violations(), IsEmpty());
    EXPECT_TRUE(cluster.end_status().ok()) << cluster.end_status().ToString();
    if (cluster.step_seconds().size() < steps) return 3600;
    const std::vector<double> late = Slice(cluster.step_seconds(), 100, steps);
    return std::accumulate(late.begin(), late.end(), 0.0) / static_cast<double>(late.size());
  }
};

TEST_P(LeaseDelivery, AListThatIsDoneAndNotDeliveredHoldsNoStepUpForLong) {
  const double withheld = MeanStep([](VirtualCluster& cluster) { cluster.WithholdVectors(50, 3); });
  EXPECT_LT(withheld, 1.3 * MeanStep([](VirtualCluster& cluster) { cluster.Kill(0, 3); }));
}

INSTANTIATE_TEST_SUITE_P(Tolerates, LeaseDelivery, testing::Values(0, 1));

}  // namespace
}  // namespace motley
