// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/kinds/kill_fault.h"

namespace motley {
namespace {

class KillFault final : public RandomFault {
 public:
  explicit KillFault(FaultTargets& targets) : targets_(targets) {}

  void Strike() override {
    if (const auto worker = targets_.PickNotLast()) targets_.Kill(*worker);
  }

 private:
  FaultTargets& targets_;
};

}  // namespace

const FaultKind kKillFault = {"kill", &RandomFaults::kill_every, MakeFault<KillFault>, nullptr};

}  // namespace motley
