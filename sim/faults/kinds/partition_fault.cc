// SPDX-License-Identifier: Apache-2.0
// A worker's link carries nothing for 10 ms to 2 s.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

class PartitionFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    const auto worker = targets_.Pick();
    if (!worker) return;
    targets_[*worker].transport().Clog(targets_.Now() + targets_.DrawDuration(0.01, 2));
  }
};

}  // namespace

const FaultKind kPartitionFault = {.name = "partition",
                                   .every = &RandomFaults::partition_every,
                                   .make = MakeFault<PartitionFault>,
                                   .delays_start = true};

}  // namespace motley
