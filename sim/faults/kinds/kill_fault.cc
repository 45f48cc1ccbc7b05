// SPDX-License-Identifier: Apache-2.0
// A worker dies. One is always left. Where workers hold the shards, some die while an update is
// applied, because that takes too little time for chance to find.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr uint64_t kUpdateDraws = 66;  // Its own stream of the simulation's draws.
constexpr double kWhileApplied = 0.3;

class KillFault final : public RandomFault {
 public:
  explicit KillFault(FaultTargets& targets)
      : RandomFault(targets), random_(targets.options().seed, Stream::kSimulation, kUpdateDraws) {}

  void Strike() override {
    if (const auto worker = targets_.PickNotLast()) targets_.Kill(*worker);
  }
  void OnEvent(const JobEvent& event) override {
    if (std::holds_alternative<event::RateSet>(event)) OnUpdate();
  }

 private:
  // The update takes a few messages from here on.
  void OnUpdate() {
    const SimOptions& options = targets_.options();
    const bool at_workers = options.job.holders == JobOptions::Holders::kWorkers;
    if (!at_workers || options.random_faults.kill_every <= 0 || !random_.Chance(kWhileApplied)) {
      return;
    }
    const double latest = 4 * options.cluster.workers.front().link.latency_seconds + 1e-5;
    const Duration wait = FromSeconds(random_.NextDouble() * latest);
    if (ToSeconds(targets_.Now() + wait) >= options.random_faults.until_seconds) return;
    targets_.world().After(wait, [this] {
      if (!targets_.stopped()) Strike();
    });
  }

  Random random_;
};

}  // namespace

const FaultKind kKillFault = {.name = "kill",
                              .every = &RandomFaults::kill_every,
                              .make = MakeFault<KillFault>,
                              .takes_workers = true,
                              .delays_start = true};

}  // namespace motley
