// SPDX-License-Identifier: Apache-2.0
// Chooses the code of a job while it runs (MakeAutoScheduler). It delegates steps to one of the
// other policies, and learns about the cluster from all events and commands. Between two steps it
// changes to another policy if that promises enough (planner/auto/choose.h).
//
// Without knowledge it uses leases, with no more copies than the job requires. Leases move no more
// data than plain shares and need no correct speeds. Unlike rows, they show round trips and what
// delays the start of a step. If sending data turns out to be quick, it goes to three copies after
// the second step.
//
// After some steps, and then at growing intervals, it tries every candidate on the step model and
// on the last observed rounds, one candidate at a time while workers compute. It remembers by how
// much a scheme's steps exceeded their prediction.
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
  static constexpr size_t kRecent = 16;   // Step times that are kept.
  static constexpr size_t kFewTimes = 3;  // Fewer times say nothing yet.

  void BetweenSteps(Time now, std::vector<Command>& out);
  void Measure(Time now);
  void ForgetTimes(Time now);
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
  void Tell(const ChoiceReason& why, std::vector<Command>& out);
  void NoticeGivenUp();

  const SchedulerOptions options_;
  ObservedCluster observed_;
  std::unique_ptr<JobScheduler> job_;
  Candidate current_;               // The candidate that job_ runs.
  bool decided_ = false;            // A decision was made since the start.
  bool insured_ = false;            // InsureAtOnce was done.
  std::vector<Candidate> without_;  // Candidates that turned out not to work.
  std::vector<CodeChoice> choices_;

  std::optional<PlanRound> round_;
  double round_seconds_ = 0;  // The time that the open round has taken.
  Time try_due_ = kNever;
  StepId looked_ = 0;          // The step at which the last round ended.
  uint64_t look_after_ = 0;    // Steps from there to the next round if nothing changes.
  uint64_t changes_seen_ = 0;  // Changes of the cluster when the last round began.
  Time rest_until_{};          // No round before this time: planning may take little of it.

  bool confirmed_ = true;  // A round has ended since the current choice began to run.
  double usual_ = 0;       // Mean seconds of a step at the last choice; 0: unknown.
  std::vector<Experience> experience_;
  // The scheme before a change to one that computes more. Workers that share processors become
  // slower then, and every observed round makes every scheme look slow. So the new scheme's steps
  // are compared with the step times that the old one had.
  struct Left {
    Candidate candidate;
    double seconds = 0;   // The time of a step with this candidate.
    double promised = 0;  // The predicted time with its successor; 0: already compared.
  };
  std::optional<Left> left_;
  std::optional<Time> applied_;  // The time of the last update.
  double step_seconds_ = 0;      // The last step's time, from the update before to its own.
  bool data_arrives_ = false;    // Much data is under way.
  Time data_due_{};              // It no longer counts as under way after this time.
  StepTimes recent_{kRecent};    // Undisturbed steps of the current code.
  Candidate told_;               // The last choice that was reported to the user.
};

// kInvalidArgument if no policy can serve the options.
Result<std::unique_ptr<Scheduler>> MakeAutoScheduler(const SchedulerOptions& options);

}  // namespace motley
