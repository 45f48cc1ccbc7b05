// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/kinds/partition_fault.h"

namespace motley {
namespace {

class PartitionFault final : public RandomFault {
 public:
  explicit PartitionFault(FaultTargets& targets) : targets_(targets) {}

  void Strike() override {
    const auto worker = targets_.Pick();
    if (!worker) return;
    targets_[*worker].transport().Clog(targets_.Now() + targets_.DrawDuration(0.01, 2));
  }

 private:
  FaultTargets& targets_;
};

}  // namespace

const FaultKind kPartitionFault = {"partition", &RandomFaults::partition_every,
                                   MakeFault<PartitionFault>, nullptr};

}  // namespace motley
