// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/random_fault.h"

#include "sim/faults/kinds/blackout_fault.h"
#include "sim/faults/kinds/break_fault.h"
#include "sim/faults/kinds/cut_fault.h"
#include "sim/faults/kinds/garble_fault.h"
#include "sim/faults/kinds/kill_fault.h"
#include "sim/faults/kinds/leave_fault.h"
#include "sim/faults/kinds/nan_fault.h"
#include "sim/faults/kinds/partition_fault.h"
#include "sim/faults/kinds/pause_fault.h"
#include "sim/faults/kinds/slow_fault.h"
#include "sim/faults/kinds/stall_fault.h"

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
