// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan_agreement.h"

namespace motley {
namespace {

TEST(PlanAgreementOfMany, HoldsOnEdge) { ExpectAgreementOn("edge"); }
TEST(PlanAgreementOfMany, HoldsOnCampus) { ExpectAgreementOn("campus"); }
TEST(PlanAgreementOfMany, HoldsOnGenerations) { ExpectAgreementOn("generations-64"); }
TEST(PlanAgreementOfMany, HoldsOnFiftyDrawnClusters) { ExpectAgreementOnDrawn(3, 53); }

}  // namespace
}  // namespace motley
