// SPDX-License-Identifier: Apache-2.0
// Counts how often interesting states were reached ("sometimes assertions"): a campaign of seeds
// that never gets there explores nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/job_event.h"
#include "sim/checkers/kept_form.h"

namespace motley {

class ReachedStates final : public JobObserver {
 public:
  explicit ReachedStates(const JobOptions& job) : job_(job) {}

  void OnEvent(const JobEvent& event) override;
  // Adds what the job's statistics tell.
  void Finish(const JobResult& result);
  void Count(const std::string& state, uint64_t times = 1) {
    if (times > 0) reached_[state] += times;
  }

  const std::map<std::string, uint64_t>& reached() const { return reached_; }

  // Every state that a campaign must reach.
  static const std::vector<std::string>& All();
  // Those that only a long campaign must reach, too.
  static const std::vector<std::string>& Rare();

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::WorkerLost& event);
  void On(const event::CommandGiven& event) { form_.See(event.command); }
  void On(const event::HolderLeft& event);
  void On(const event::StepOpened& event);
  void On(const event::RowAssigned& event) { Count("row begun ahead of its order", event.ahead); }
  void On(const event::RowArrived& event);
  void On(const event::VectorArrived& event);
  void On(const event::LeaseReleased& event);
  void On(const event::VectorRefused& event);
  void On(const event::LinkMeasured&) { Count("link measured"); }
  void On(const event::Noticed& event);
  void On(const event::StepApproximated& event);
  void On(const event::StepDecoded& event);

  const JobOptions job_;
  KeptForm form_;
  std::vector<bool> arrived_;
  std::vector<uint32_t> kept_;  // By row that is kept: how often it is.
  std::set<WorkerId> sent_;     // A vector, in this step of leases.
  uint32_t joins_ = 0;
  std::set<WorkerId> there_;
  std::set<WorkerId> known_;  // That ever joined.
  bool all_gone_ = false;     // While a job runs.
  uint64_t complete_ = 0;     // Steps decoded with nobody missing,
  uint64_t exactly_ = 0;      // and with as many as the code tolerates.
  bool lost_since_plan_ = false;
  std::map<std::string, uint64_t> reached_;
};

}  // namespace motley
