// SPDX-License-Identifier: Apache-2.0
// Takes an update from enough answers to the judged next version: ends its sum, weighs it, applies
// it, has the new version judged and saved, and reports it to the scheduler. The shards of the
// vector are in this process, or workers hold them. Loop thread only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/coordinator/loss_watch.h"
#include "runtime/coordinator/server_context.h"
#include "runtime/saving/checkpointer.h"
#include "scheduler/scheduler.h"

namespace motley {

class Updater {
 public:
  // `about` is for checkpoints.
  Updater(ServerContext& server, JobDescription about);

  // The update has enough answers. Updates are applied in the order of these calls, or of their
  // numbers if the mode says so.
  void Commit(const CommitStep& command);
  // Workers apply an update. False once one that they need is gone.
  bool applying() const;

  // Where the newest version is, if workers hold the shards.
  enum class Copy : uint8_t {
    kHere,    // In the model. So it always is if the shards are here.
    kComing,  // It will be. Otherwise it will turn out to be lost.
    kLost,    // It can never come.
  };
  // Has the newest version here, with the optimizer's state if wanted. `then` runs if it was coming
  // and is here. JobEnding::Check runs whenever it comes or is lost.
  Copy Fetch(bool state, std::function<void()> then);

  void Follow(const Guidance& guidance);
  // True: the job has done all steps that it may do so far. `then` runs once it may do more.
  bool PausesAt(uint64_t steps, std::function<void()> then);
  bool paused() const { return paused_ != nullptr; }
  // The caller's trainer looks at a version.
  bool showing() const { return showing_; }

  // Adds what the record of the steps does not count itself, for checkpoints and the report.
  void AddTo(JobHistory& history) const;

  // Null if no checkpoints are wanted.
  Checkpointer* checkpointer() const { return checkpointer_.get(); }

 private:
  // The sum of an update.
  struct Sum {
    StepId step = 0;
    Tally tally;
    double amplification = 0;
    std::shared_ptr<const ApproximateSum> approximate;  // Null: the sum is exact.
    std::shared_ptr<UpdateSum> values;                  // Null: workers have them.
    double squares = 0;              // The sum of the squares of values that workers have.
    uint32_t attempt = 0;            // RemoteShards::attempt
    double samples = 0;              // Those of its batch, or of its part of the batch.
    double weight = 0;               // The weight of the batch.
    uint64_t version = 0;            // The oldest version that its answers were computed with.
    std::optional<WorkerId> worker;  // The worker that computed all answers here.
    ParameterCopy computed_with;     // The values of `version`; null: nobody needs them.
  };

  Copy FetchLater(bool state, std::function<void()> then);  // Once shards are in their places.
  void CommitNext();
  Result<Sum> SumUp(const CommitStep& command);
  double SamplesOf(StepId step) const;
  void OnSummed(Sum sum);
  void ReadSum(std::function<void(std::span<const float>)> then);
  void Decoded(const Sum& sum, std::span<const float> values);
  void Apply(const Sum& sum);
  void ApplyAtWorkers(const Sum& sum, const Contribution& from);
  void OnAppliedAtWorkers(StepId step, const Contribution& from);
  void OnApplied(StepId step, uint64_t version, const Contribution& from);
  void Proceed(StepId step, uint64_t version, bool stop);
  void ForgetCopy();
  void GoOn(StepId step);
  bool Shows(uint64_t version) const;
  void Show(uint64_t version);
  void OnNotJudged(const Status& why);
  void TakeSnapshot(SnapshotDone done);
  void TakeBesideSteps(SnapshotDone done);
  JobHistory History() const;

  ServerContext& server_;
  LossWatch losses_;
  bool busy_ = false;                 // An update is being applied here.
  std::deque<CommitStep> committed_;  // Further updates with enough answers, in their order.
  std::unique_ptr<Checkpointer> checkpointer_;
  Guidance guidance_;
  bool showing_ = false;
  uint64_t shown_;  // The caller's trainer has seen the losses of the updates up to this version.
  std::function<void()> paused_;  // What goes on when more steps are allowed; null: no pause.
};

}  // namespace motley
