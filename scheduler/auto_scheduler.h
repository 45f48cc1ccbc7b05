// SPDX-License-Identifier: Apache-2.0
// Chooses the code of a job while it runs (MakeAutoScheduler): hands the steps to one of the other
// policies, learns from all that passes what the cluster is like, and changes to another policy
// between two steps when the planner promises enough from it.
//
// Without knowledge it leases every partition to one worker, with as many copies as must be: that
// moves no more data than plain shares do, needs no speeds to be right, and shows round trips and
// what keeps a step from beginning, which rows do not. Candidates are tried one by one on the step
// model while workers compute, each for some milliseconds. Those that it finds near the best, and
// plain shares always, then take turns with the code that runs (scheduler/code_trial.h): what was
// measured decides.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/bulk_synchronous.h"
#include "scheduler/code_trial.h"
#include "scheduler/observed_cluster.h"
#include "scheduler/plan_round.h"
#include "scheduler/trial_record.h"

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
  static constexpr size_t kRecent = 16;   // Steps,
  static constexpr size_t kFewTimes = 4;  // of which fewer say nothing yet.
  // Steps between rounds while nothing changes, twice as many each time; after a change there is
  // one as soon as that could show itself.
  static constexpr uint64_t kFirstLook = 32, kLastLook = 2048, kLookAfterChange = 4;

  void BetweenSteps(Time now, std::vector<Command>& out);
  bool WorthALook() const;
  void Begin(Time now);
  void Try(Time now);
  void Decide(Time now, std::vector<Command>& out);
  void Draw(std::vector<Command>& out);
  bool ChangeTo(const Candidate& candidate);
  uint64_t StepsLeft() const;
  void LookLater();

  // Trials (auto_trial.cc).
  void Measure(Time now);
  bool MayTry(const Candidate& candidate) const;
  bool TooShortForCopies() const;
  void StayWithout(std::vector<Command>& out);
  bool TryPlain(std::vector<Command>& out);
  double MayLose() const;
  bool Disappoints() const;
  void StartOver();
  bool Serves(const Candidate& candidate, const Ranking& ranking) const;
  std::vector<Candidate> ToTry(const PlanRound& round, const Ranking& ranking) const;
  Contender Contending(const Candidate& candidate, const PlanRound& round,
                       const Ranking& ranking) const;
  bool BeginTrial(const PlanRound& round, const Ranking& ranking, std::vector<Command>& out);
  void RunTrial(std::vector<Contender> contenders, uint32_t most_turns, std::vector<Command>& out);
  void GoOnTrying(std::vector<Command>& out);
  void FollowTrial(std::vector<Command>& out);
  void Conclude(std::vector<Command>& out);
  void Tell(const std::string& why, std::vector<Command>& out);
  void NoticeGivenUp();

  const SchedulerOptions options_;
  const RowsToReplace rows_to_replace_;
  ObservedCluster observed_;
  std::unique_ptr<BulkSynchronous> policy_;
  const Candidate first_;           // What the job began with.
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

  std::optional<CodeTrial> trial_;
  Candidate before_trial_;
  std::vector<WorkerId> tried_with_;  // Who was there when it began.
  uint32_t without_some_ = 0;         // Steps in a row while others are there,
  double without_seconds_ = 0;        // and what they took.
  std::vector<std::string> why_;      // By contender: why it would be chosen.
  TrialRecord record_;
  uint64_t trials_ = 0;
  double lost_ = 0;       // By them, in steps.
  double chosen_at_ = 0;  // Seconds a step, for which the last one chose what runs; 0: none did.
  bool tried_plain_ = false;
  std::optional<Time> applied_;  // The last step was.
  double step_seconds_ = 0;      // That it took, from the update before it to its own.
  bool data_arrives_ = false;    // Much of it, since it was sent.
  bool disturbed_ = true;        // By more than the code.
  StepTimes recent_{kRecent};    // Of the code that runs, up to now and one after the other;
  StepTimes before_round_;       // and when the round began, which is in the way of steps.
  Candidate told_;               // The last that people were told of.
};

// kInvalidArgument when no policy can serve the options.
Result<std::unique_ptr<Scheduler>> MakeAutoScheduler(const SchedulerOptions& options,
                                                     RowsToReplace rows_to_replace);

}  // namespace motley
