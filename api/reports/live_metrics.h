// SPDX-License-Identifier: Apache-2.0
// The numbers of motley_job_metrics, kept up to date while a job runs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "motley/job.h"
#include "runtime/job.h"

namespace motley {

// Loop thread; after the run any one thread.
class LiveMetrics final : public JobObserver {
 public:
  void OnWorkerJoined(WorkerId worker, const std::string& name) override;
  void OnWorkerLost(WorkerId worker, const Status& why) override;
  void OnStepOpened(StepId step, const CodeForm& code, Time now) override;
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnVectorArrived(StepId step, WorkerId worker, std::span<const PartitionId> partitions,
                       Time now) override;
  void OnComputed(StepId step, WorkerId worker, uint64_t samples, Duration compute, bool so_far,
                  Time now) override;
  void OnCommand(const Command& command, Time now) override;
  void OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) override;
  void OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                     Time now) override;
  void OnRate(StepId /*step*/, double rate) override { values_.learning_rate = rate; }
  void OnCheckpoint(uint64_t steps) override { values_.checkpoint_step = steps; }
  // What the job is to be, once that is known. `ends_early`: it may do fewer steps.
  void Expect(uint64_t steps, uint64_t steps_per_epoch, uint32_t workers, bool ends_early);
  void SetLossUnit(double unit) { loss_unit_ = unit; }  // As EventStream's.
  // What is only known at the end.
  void Finish(const JobResult& result);

  const motley_metrics& values() const { return values_; }
  // kNotFound: it has never joined. Its name lives until it joins again.
  Result<motley_worker_metrics> Worker(WorkerId worker) const;

 private:
  void Tell(const ApproximateRecord& record);

  double loss_unit_ = 1;
  ApproximateRecord approximate_;
  motley_metrics values_ MOTLEY_METRICS_INIT;
  std::set<WorkerId> workers_;
  struct OfWorker {
    std::string name;
    motley_worker_metrics values MOTLEY_WORKER_METRICS_INIT;
    StepId step = 0;       // For which it computed last,
    uint64_t in_step = 0;  // so many samples.
  };
  std::map<WorkerId, OfWorker> of_worker_;
  std::optional<Time> started_;
};

}  // namespace motley
