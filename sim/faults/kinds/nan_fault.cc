// SPDX-License-Identifier: Apache-2.0
// A worker's answer is not finite.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

class NanFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    if (const auto spoilt = targets_.PickToSpoil()) {
      targets_[spoilt->worker].PoisonStep(spoilt->step);
    }
  }
};

}  // namespace

const FaultKind kNanFault = {"nan", &RandomFaults::nan_every, MakeFault<NanFault>, nullptr};

}  // namespace motley
