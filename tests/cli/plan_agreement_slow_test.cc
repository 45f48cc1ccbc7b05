// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan_agreement.h"

namespace motley {
namespace {

// This is one test, because only many rows together show whether other seeds agree.
TEST(PlanAgreementOfMany, HoldsOnAllProfilesAndFiftyDrawnClusters) {
  OtherSeeds others;
  for (const char* name :
       {"campus", "edge", "generations-64", "gpu-and-cpus", "lab-mixed", "uniform-8"}) {
    ExpectAgreement(SampleCluster(name), 256, &others);
  }
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    uint32_t batch = 0;
    const ClusterProfile cluster = DrawCluster(seed, batch);
    ExpectAgreement(cluster, batch, &others);
  }
  ExpectNoBias(others);
}

}  // namespace
}  // namespace motley
