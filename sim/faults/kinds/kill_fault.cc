// SPDX-License-Identifier: Apache-2.0
// A worker dies. One is always left. Where workers hold the shards, some die while an update is
// applied or a checkpoint is read, because these take too little time for chance to find.
#include "sim/faults/random_fault.h"

namespace motley {
namespace {

constexpr uint64_t kUpdateDraws = 66;  // Its own stream of the simulation's draws.
constexpr uint64_t kReadingDraws = 74;
constexpr double kWhileApplied = 0.3;
constexpr double kWhileRead = 0.6;

class KillFault final : public RandomFault {
 public:
  explicit KillFault(FaultTargets& targets)
      : RandomFault(targets),
        updates_(targets.options().seed, Stream::kSimulation, kUpdateDraws),
        readings_(targets.options().seed, Stream::kSimulation, kReadingDraws) {}

  void Strike() override {
    if (const auto worker = targets_.PickNotLast()) targets_.Kill(*worker);
  }
  // An update takes a few messages from RateSet on, and the reading of a checkpoint takes more.
  void OnEvent(const JobEvent& event) override {
    const uint64_t every = targets_.options().job.checkpoint.every;
    const auto* applied = std::get_if<event::StepApplied>(&event);
    if (std::holds_alternative<event::RateSet>(event)) {
      StrikeWithin(4, kWhileApplied, updates_);
    } else if (applied != nullptr && every > 0 && (applied->step + 1) % every == 0) {
      StrikeWithin(6, kWhileRead, readings_);
    }
  }

 private:
  void StrikeWithin(double messages, double chance, Random& random) {
    const SimOptions& options = targets_.options();
    const bool at_workers = options.job.holders == JobOptions::Holders::kWorkers;
    if (!at_workers || options.random_faults.kill_every <= 0 || !random.Chance(chance)) return;
    const double latest = messages * options.cluster.workers.front().link.latency_seconds + 1e-5;
    const Duration wait = FromSeconds(random.NextDouble() * latest);
    if (ToSeconds(targets_.Now() + wait) >= options.random_faults.until_seconds) return;
    targets_.world().After(wait, [this] {
      if (!targets_.stopped()) Strike();
    });
  }

  Random updates_, readings_;
};

}  // namespace

const FaultKind kKillFault = {.name = "kill",
                              .every = &RandomFaults::kill_every,
                              .make = MakeFault<KillFault>,
                              .takes_workers = true,
                              .delays_start = true};

}  // namespace motley
