// SPDX-License-Identifier: Apache-2.0
#include "plan_agreement.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

class PlanAgreement : public testing::TestWithParam<const char*> {};

TEST_P(PlanAgreement, HoldsOnASampleProfile) { ExpectAgreementOn(GetParam(), 0.5); }

INSTANTIATE_TEST_SUITE_P(Profiles, PlanAgreement,
                         testing::Values("gpu-and-cpus", "lab-mixed", "uniform-8"));

TEST(PlanAgreementDrawn, HoldsOnDrawnClusters) { ExpectAgreementOnDrawn(1, 2); }

}  // namespace
}  // namespace motley
