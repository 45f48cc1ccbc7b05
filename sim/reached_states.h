// SPDX-License-Identifier: Apache-2.0
// Counts how often interesting states were reached ("sometimes assertions"): a campaign of seeds
// that never gets there explores nothing.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/job.h"
#include "sim/checkers/kept_form.h"

namespace motley {

class ReachedStates final : public JobObserver {
 public:
  explicit ReachedStates(const JobOptions& job)
      : code_(job.code), tolerate_(job.tolerate), workers_(job.workers) {}

  void OnWorkerJoined(WorkerId worker, const std::string& name) override;
  void OnWorkerLost(WorkerId worker, const Status& why) override;
  void OnCommand(const Command& command, Time) override { form_.See(command); }
  void OnStepOpened(StepId step, const CodeForm& form, Time now) override;
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnVectorArrived(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override;
  void OnLeaseReleased(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override;
  void OnVectorRefused(StepId step, WorkerId worker, Time now) override;
  void OnLinkMeasured(WorkerId, uint64_t, Duration, Time) override { Count("link measured"); }
  void OnNotice(const std::string& text) override;
  void OnSchedulerNotice(const Notice& notice) override;
  void OnStepApproximated(StepId, const ApproximateSum&, Time) override;
  void OnStepDecoded(StepId step, const DecodedSum& sum, std::span<const float> parameters,
                     Time now) override;
  // Adds what the job's statistics tell.
  void Finish(const JobResult& result);
  void Count(const std::string& state, uint64_t times = 1) {
    if (times > 0) reached_[state] += times;
  }

  const std::map<std::string, uint64_t>& reached() const { return reached_; }

  // Every state that a campaign must reach.
  static const std::vector<std::string>& All();

 private:
  const std::string code_;
  const uint32_t tolerate_;
  const uint32_t workers_;
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
