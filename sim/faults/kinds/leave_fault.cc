// SPDX-License-Identifier: Apache-2.0
// A worker leaves, and half of those come back. One is always left.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr char kState[] = "worker took its leave";

class LeaveFault final : public RandomFault {
 public:
  using RandomFault::RandomFault;

  void Strike() override {
    const auto worker = targets_.PickNotLast();
    if (!worker) return;
    WorkerProcess* process = &targets_[*worker];
    if (!targets_.joined(*worker) || process->paused()) return;
    ++leaves_;
    targets_.DisturbUntil(targets_.Now());
    process->Leave();
    if (!targets_.random().Chance(0.5)) return;
    const Duration away = targets_.DrawDuration(0.01, 1);
    targets_.world().After(away, [this, worker = *worker, process] {
      if (targets_.stopped() || &targets_[worker] != process || process->alive()) return;
      if (!process->killed()) process->Kill(/*lose_in_flight=*/false);
      targets_.Restart(worker);
    });
  }
  std::map<std::string, uint64_t> Reached() const override { return {{kState, leaves_}}; }

 private:
  uint64_t leaves_ = 0;
};

}  // namespace

const FaultKind kLeaveFault = {.name = "leave",
                               .every = &RandomFaults::leave_every,
                               .make = MakeFault<LeaveFault>,
                               .state = kState,
                               .takes_workers = true};

}  // namespace motley
