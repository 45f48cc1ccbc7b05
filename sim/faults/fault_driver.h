// SPDX-License-Identifier: Apache-2.0
// Injects faults into worker processes: scripted ones when their step opens, and random ones, drawn
// from the seed, until RandomFaults::until_seconds.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/job_event.h"
#include "sim/faults/fault_targets.h"
#include "sim/faults/random_fault.h"
#include "sim/faults/stranger.h"

namespace motley {

class FaultDriver final : public JobObserver {
 public:
  using Workers = FaultTargets::Workers;

  // All arguments are borrowed.
  FaultDriver(VirtualLoop& world, SimNetwork& network, const SimOptions& options, Workers& workers);
  ~FaultDriver() override { Stop(); }

  void Start();
  // Starts no further faults. Pauses and slow phases end at their time.
  void Stop();

  void OnEvent(const JobEvent& event) override;

  const FaultTargets& targets() const { return targets_; }
  // How often faults reached their states.
  std::map<std::string, uint64_t> Reached() const;
  uint64_t LastDraw() { return targets_.random().Next64(); }

 private:
  struct Source {
    double every;  // Mean seconds.
    std::unique_ptr<RandomFault> fault;
    TimerId timer = 0;
  };

  void On(const event::StepOpened& event);
  void Arm(Source& source);
  void Strike(const Fault& fault);

  FaultTargets targets_;
  std::vector<Source> sources_;
  std::vector<bool> struck_;            // Faults of the script, by index.
  std::unique_ptr<Stranger> stranger_;  // Null: no stranger comes.
};

}  // namespace motley
