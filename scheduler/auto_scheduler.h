// SPDX-License-Identifier: Apache-2.0
// Chooses the code of a job while it runs (MakeAutoScheduler): hands the steps to one of the other
// policies, learns from all that passes what the cluster is like, and changes to another policy
// between two steps when the planner promises enough from it.
//
// Without knowledge it leases every partition to one worker, with as many copies as must be: that
// moves no more data than plain shares do, needs no speeds to be right, and shows round trips and
// what keeps a step from beginning, which rows do not. Candidates are tried one by one while
// workers compute, each for some milliseconds.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/bulk_synchronous.h"
#include "scheduler/observed_cluster.h"
#include "scheduler/plan_round.h"

namespace motley {

class AutoScheduler final : public Scheduler {
 public:
  // `first`: serves the options with code `current`.
  AutoScheduler(SchedulerOptions options, RowsToReplace rows_to_replace, Candidate current,
                std::unique_ptr<BulkSynchronous> first);

  void OnEvent(const Event& event, Time now, std::vector<Command>& out) override;
  Time Deadline() const override;
  SchedulerStats Stats() const override;

 private:
  void BetweenSteps(Time now, std::vector<Command>& out);
  bool WorthALook() const;
  void Begin(Time now);
  void Try(Time now);
  void Decide(Time now, std::vector<Command>& out);
  void Draw(std::vector<Command>& out);
  bool ChangeTo(const Candidate& candidate);
  void Tell(const std::string& why, std::vector<Command>& out);
  void NoticeGivenUp();

  const SchedulerOptions options_;
  const RowsToReplace rows_to_replace_;
  ObservedCluster observed_;
  std::unique_ptr<BulkSynchronous> policy_;
  Candidate current_;               // Of policy_.
  bool decided_ = false;            // It was chosen, and not begun with.
  std::vector<Candidate> without_;  // That proved to be of no use.
  std::vector<CodeChoice> choices_;

  std::optional<PlanRound> round_;
  double round_seconds_ = 0;  // That it took so far.
  Time try_due_ = kNever;
  StepId looked_ = 0;          // At which the last round ended.
  uint64_t look_after_ = 0;    // Steps from then to the next one, if nothing changes.
  uint64_t changes_seen_ = 0;  // Of the cluster, when the last round began.
  Time rest_until_{};          // Planning is to take a small part of the time.
};

// kInvalidArgument when no policy can serve the options.
Result<std::unique_ptr<Scheduler>> MakeAutoScheduler(const SchedulerOptions& options,
                                                     RowsToReplace rows_to_replace);

}  // namespace motley
