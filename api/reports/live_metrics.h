// SPDX-License-Identifier: Apache-2.0
// The numbers of motley_job_metrics, kept up to date while a job runs.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "motley/job.h"
#include "runtime/job_event.h"

namespace motley {

// The loop's thread sets them, and any thread reads them. The mutex guards all members; nothing
// else is called while it is held.
class LiveMetrics final : public JobObserver {
 public:
  void OnEvent(const JobEvent& event) override;
  // What the job is to be, once that is known. `ends_early`: it may do fewer steps.
  void Expect(uint64_t steps, uint64_t steps_per_epoch, uint32_t workers, bool ends_early);
  void SetLossUnit(double unit);  // As EventStream's.
  // What is only known at the end.
  void Finish(const JobResult& result);

  motley_metrics values() const;
  double decoded_loss() const;  // Mean loss of the batch whose sum was decoded last.
  // kNotFound: it has never joined. Its name lives until it joins again.
  Result<motley_worker_metrics> Worker(WorkerId worker) const;

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::WorkerLost& event);
  void On(const event::StepOpened& event);
  void On(const event::RowArrived& event);
  void On(const event::VectorArrived& event);
  void On(const event::WorkComputed& event);
  void On(const event::CommandGiven& event);
  void On(const event::StepApproximated& event);
  void On(const event::StepDecoded& event);
  void On(const event::StepApplied& event);
  void On(const event::RateSet& event) { values_.learning_rate = event.rate; }
  void On(const event::CheckpointSafe& event) { values_.checkpoint_step = event.steps; }
  void On(const event::Noticed& event);

  void Tell(const ApproximateRecord& record);

  mutable std::mutex mutex_;
  double loss_unit_ = 1;
  double decoded_loss_ = 0;
  ApproximateRecord approximate_;
  motley_metrics values_ MOTLEY_METRICS_INIT;
  std::set<WorkerId> workers_;
  struct OfWorker {
    std::string name;
    motley_worker_metrics values MOTLEY_WORKER_METRICS_INIT;
    StepId step = 0;       // For which it computed last,
    uint64_t in_step = 0;  // so many samples.
    // Between the notices of its silence and of its return. Both make it MOTLEY_WORKER_LATE.
    bool owes_answer = false;  // The plan leaves it out (notice::Silent).
    bool quiet = false;        // No heartbeat came (notice::Quiet).
  };
  std::map<WorkerId, OfWorker> of_worker_;
  std::optional<Time> started_;
};

}  // namespace motley
