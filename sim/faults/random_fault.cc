// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

// The order is that of the first draws, so a new kind at the end leaves old seeds as they are.
constexpr const FaultKind* kKinds[] = {
    &kKillFault,  &kPauseFault, &kSlowFault, &kPartitionFault, &kNanFault,   &kGarbleFault,
    &kBreakFault, &kStallFault, &kCutFault,  &kBlackoutFault,  &kLeaveFault,
};

}  // namespace

std::span<const FaultKind* const> FaultKinds() { return kKinds; }

}  // namespace motley
