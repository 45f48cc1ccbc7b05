// SPDX-License-Identifier: Apache-2.0
// Chooses the scheme of a job while it runs (MakeAutoScheduler): learns from all that passes what
// the cluster is like, and changes the scheme between two steps when that promises enough
// (planner/auto/choose.h).
//
// Without knowledge it leases every partition to one worker, with as many copies as must be: that
// moves no more data than plain shares do, needs no speeds to be right, and shows round trips and
// what keeps a step from beginning, which rows do not. Where data turn out to be sent in a moment,
// three copies follow after the second step. After some steps, and then at growing
// intervals, it tries every candidate on the step model and on the last rounds as they were
// observed, one candidate at a time while workers compute. What a scheme's steps took beyond what
// was foreseen of it is remembered.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "planner/auto/choose.h"
#include "planner/auto/observed_cluster.h"
#include "planner/auto/plan_round.h"
#include "scheduler/job_scheduler.h"
#include "scheduler/learned/step_times.h"

namespace motley {

class AutoScheduler final : public Scheduler {
 public:
  // `job` begins with the scheme `current`.
  AutoScheduler(SchedulerOptions options, Candidate current, std::unique_ptr<JobScheduler> job);

  void OnEvent(const Event& event, Time now, std::vector<Command>& out) override;
  Time Deadline() const override;
  SchedulerStats Stats() const override;

 private:
  static constexpr size_t kRecent = 16;   // Steps,
  static constexpr size_t kFewTimes = 3;  // of which fewer say nothing yet.

  void BetweenSteps(Time now, std::vector<Command>& out);
  void Measure(Time now);
  void InsureAtOnce();
  bool WorthALook(Time now) const;
  bool TooShortForCopies() const;
  void StayWithout(std::vector<Command>& out);
  void Begin(Time now);
  void Try(Time now);
  void Decide(Time now, std::vector<Command>& out);
  void Take(Candidate chosen, const PlanRound& round, const Ranking& ranking,
            std::vector<Command>& out);
  void Learn(const std::string& scheme, double factor);
  bool BrokeItsPromise(const Ranking& ranking);
  bool IsFarWorse() const;
  void Draw(std::vector<Command>& out);
  bool ChangeTo(const Candidate& candidate);
  uint64_t StepsLeft() const;
  void LookLater();
  void Tell(const std::string& why, std::vector<Command>& out);
  void NoticeGivenUp();

  const SchedulerOptions options_;
  ObservedCluster observed_;
  std::unique_ptr<JobScheduler> job_;
  Candidate current_;               // What it runs.
  bool decided_ = false;            // It was chosen, and not begun with.
  bool insured_ = false;            // Whether to begin with copies was asked.
  std::vector<Candidate> without_;  // Those that proved to be of no use.
  std::vector<CodeChoice> choices_;

  std::optional<PlanRound> round_;
  double round_seconds_ = 0;  // That it took so far.
  Time try_due_ = kNever;
  StepId looked_ = 0;          // At which the last round ended.
  uint64_t look_after_ = 0;    // Steps from then to the next one, if nothing changes.
  uint64_t changes_seen_ = 0;  // Of the cluster, when the last round began.
  Time rest_until_{};          // Planning is to take a small part of the time.

  bool confirmed_ = true;  // A round looked at what was chosen since it runs.
  double usual_ = 0;       // Seconds that a step took when a round ended last; 0: not known.
  std::vector<Experience> experience_;
  // What was left for a scheme that computes more than it, which slows workers that share
  // processors: every round then makes every scheme look slow, so its own steps before are asked.
  struct Left {
    Candidate candidate;
    double seconds = 0;   // A step took,
    double promised = 0;  // and was to take now; 0: that was looked at.
  };
  std::optional<Left> left_;
  std::optional<Time> applied_;  // The last step was.
  double step_seconds_ = 0;      // That it took, from the update before it to its own.
  bool data_arrives_ = false;    // Much of it, since it was sent,
  Time data_due_{};              // until then at the latest.
  StepTimes recent_{kRecent};    // Undisturbed steps of the code that runs.
  Candidate told_;               // The last that the user was told of.
};

// kInvalidArgument when no policy can serve the options.
Result<std::unique_ptr<Scheduler>> MakeAutoScheduler(const SchedulerOptions& options);

}  // namespace motley
