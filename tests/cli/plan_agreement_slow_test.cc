// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan_agreement.h"

namespace motley {
namespace {

TEST(PlanAgreementOfMany, HoldsOnEdge) { ExpectAgreementOn("edge", 0.5); }
// Its offices and homes crowd the server's link: of two in three schemes the seeds differ.
TEST(PlanAgreementOfMany, HoldsOnCampus) { ExpectAgreementOn("campus", 0.3); }
TEST(PlanAgreementOfMany, HoldsOnGenerations) { ExpectAgreementOn("generations-64", 0.5); }
TEST(PlanAgreementOfMany, HoldsOnFiftyDrawnClusters) { ExpectAgreementOnDrawn(3, 53); }

}  // namespace
}  // namespace motley
