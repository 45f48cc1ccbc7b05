// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/kinds/nan_fault.h"

namespace motley {
namespace {

class NanFault final : public RandomFault {
 public:
  explicit NanFault(FaultTargets& targets) : targets_(targets) {}

  void Strike() override {
    if (const auto spoilt = targets_.PickToSpoil()) {
      targets_[spoilt->worker].PoisonStep(spoilt->step);
    }
  }

 private:
  FaultTargets& targets_;
};

}  // namespace

const FaultKind kNanFault = {"nan", &RandomFaults::nan_every, MakeFault<NanFault>, nullptr};

}  // namespace motley
