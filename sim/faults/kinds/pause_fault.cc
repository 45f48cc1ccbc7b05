// SPDX-License-Identifier: Apache-2.0
// A worker pauses for 10 ms to 2 s.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr char kState[] = "paused worker back in time";

class PauseFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    if (const auto worker = targets_.Pick()) {
      targets_.Pause(*worker, targets_.DrawDuration(0.01, 2));
    }
  }
  std::map<std::string, uint64_t> Reached() const override {
    return {{kState, targets_.back_from_pause()}};
  }
};

}  // namespace

const FaultKind kPauseFault = {.name = "pause",
                               .every = &RandomFaults::pause_every,
                               .make = MakeFault<PauseFault>,
                               .state = kState,
                               .delays_start = true};

}  // namespace motley
