// SPDX-License-Identifier: Apache-2.0
// All connections break at once, or carry nothing for 10 ms to 5 s.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

class BlackoutFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    const bool cut = targets_.random().Chance(0.5);
    const Time until = targets_.Now() + targets_.DrawDuration(0.01, 5);
    for (const auto& process : targets_.workers()) {
      if (!process->alive()) continue;
      cut ? process->transport().Cut(/*tell_server=*/true) : process->transport().Clog(until);
    }
  }
};

}  // namespace

const FaultKind kBlackoutFault = {.name = "blackout",
                                  .every = &RandomFaults::blackout_every,
                                  .make = MakeFault<BlackoutFault>,
                                  .takes_workers = true};

}  // namespace motley
