// SPDX-License-Identifier: Apache-2.0
// The list of random faults. A new one is a file in kinds/, a declaration below, a line in
// random_fault.cc, and its mean time in RandomFaults. The fault driver, descriptions of scenarios
// and the states that a campaign must reach follow the list.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/random.h"
#include "runtime/job_event.h"
#include "sim/faults/fault_targets.h"
#include "sim/faults/random_faults.h"

namespace motley {

class RandomFault {
 public:
  explicit RandomFault(FaultTargets& targets) : targets_(targets) {}  // Borrowed.
  virtual ~RandomFault() = default;
  // Called at random times until faults stop.
  virtual void Strike() = 0;
  virtual void OnEvent(const JobEvent&) {}
  // How often states were reached through the fault (reached_states.h).
  virtual std::map<std::string, uint64_t> Reached() const { return {}; }

 protected:
  FaultTargets& targets_;
};

struct FaultKind {
  const char* name;
  double RandomFaults::*every;  // 0: off.
  std::unique_ptr<RandomFault> (*make)(FaultTargets& targets);
  // What a campaign must reach through this fault; null: nothing of its own.
  const char* state = nullptr;
  bool takes_workers = false;  // A worker may be away when it is needed, even for good.
  bool delays_start = false;   // A worker may be too late for the first plan.
  double longest_seconds = 5;  // How long one of them may keep work from going on.
};

// Each is defined in kinds/.
extern const FaultKind kBlackoutFault, kBreakFault, kCutFault, kGarbleFault, kKillFault,
    kLeaveFault, kNanFault, kPartitionFault, kPauseFault, kSlowFault, kStallFault;

std::span<const FaultKind* const> FaultKinds();

// Adds the faults of a scenario whose job takes about `job_seconds`. Half of the scenarios have
// each kind.
void DrawRandomFaults(Random& random, uint64_t seed, double job_seconds, RandomFaults& faults);

// For FaultKind::make.
template <typename Fault>
std::unique_ptr<RandomFault> MakeFault(FaultTargets& targets) {
  return std::make_unique<Fault>(targets);
}

}  // namespace motley
