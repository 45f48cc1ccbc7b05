// SPDX-License-Identifier: Apache-2.0
// A worker dies. One is always left.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

class KillFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    if (const auto worker = targets_.PickNotLast()) targets_.Kill(*worker);
  }
};

}  // namespace

const FaultKind kKillFault = {"kill", &RandomFaults::kill_every, MakeFault<KillFault>, nullptr,
                              true};

}  // namespace motley
