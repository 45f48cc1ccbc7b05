// SPDX-License-Identifier: Apache-2.0
#include "plan_agreement.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

class PlanAgreement : public testing::TestWithParam<const char*> {};

TEST_P(PlanAgreement, HoldsOnASampleProfile) {
  ExpectAgreement(SampleCluster(GetParam()), 256, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Profiles, PlanAgreement,
                         testing::Values("gpu-and-cpus", "lab-mixed", "uniform-8"));

TEST(PlanAgreementDrawn, HoldsOnADrawnCluster) {
  uint32_t batch = 0;
  const ClusterProfile cluster = DrawCluster(1, batch);
  ExpectAgreement(cluster, batch, nullptr);
}

TEST(PlanAgreementOfVectors, HoldsIfWorkersSumRoundedVectors) {
  PlanFlags flags;
  flags.reduce = "direct";
  flags.wire = "bf16";
  flags.followers = 2;
  flags.copies = 1;
  ExpectAgreement(SampleCluster("gpu-and-cpus"), flags, nullptr);
}

}  // namespace
}  // namespace motley
