// SPDX-License-Identifier: Apache-2.0
// I15, for jobs whose shards other nodes hold: what the loss of such nodes may cost.
//
// - Only the open update is taken back, and only after a shard got another owner. The update is
//   opened again before it is applied.
// - A step is opened again at most as often as nodes left while it was open. A node leaves when it
//   is lost, or when others replace it because it is late, slow or out of reach. Refused answers,
//   and answers that do not decode, also open the step again. So do losses before the first step.
// - A shard is lost only if its owner and all of its followers left. If each shard has two
//   followers, for example, at least three nodes left before. All nodes that left in the whole job
//   count, so this holds the first losses of a job best.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"
#include "sim/reached_states.h"

namespace motley {

class ShardLossChecker final : public JobObserver {
 public:
  // One run of a job with a barrier. `violations` and `reached` are borrowed.
  ShardLossChecker(Violations& violations, ReachedStates& reached, const JobOptions& job)
      : violations_(violations), reached_(reached), job_(job), ready_(job.workers) {}

  void OnEvent(const JobEvent& event) override;
  // The run has ended like this.
  void CheckEnd(const JobResult& result);

  // The job failed because a shard has no owner any more.
  static bool IsOfLostShard(const Status& status);

 private:
  void On(const event::WorkerLost&) { Leaves(); }
  void On(const event::HolderLeft&) { Leaves(); }
  void On(const event::Noticed& event);
  void On(const event::StepOpened& event);
  void On(const event::StepApplied& event);
  void On(const event::UpdateTakenBack& event);
  void Leaves();
  void OpenAgain();
  uint64_t FirstHolders() const;

  struct Open {
    StepId step = 0;
    uint64_t repeats = 0;  // How often the step was opened again.
    uint64_t causes = 0;   // What happened meanwhile that allows it.
    bool keeps = false;    // Workers keep their rows first. The step then opens for answers.
    bool moved = false;    // A shard got another owner since the step was opened last.
    bool taken_back = false;
  };

  Violations& violations_;
  ReachedStates& reached_;
  const JobOptions job_;
  std::optional<Open> open_;
  bool began_ = false;  // A step was opened, so all first holders had their shards.
  uint32_t ready_;      // Workers that could hold shards at first.
  uint64_t left_ = 0;   // Nodes that left; one that came back counts each time.
};

}  // namespace motley
