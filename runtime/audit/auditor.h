// SPDX-License-Identifier: Apache-2.0
// Decides which steps are audited, runs one audit at a time, and reports what it found. It audits
// the first step, and each further one with probability JobOptions::audit_fraction, at least one of
// 1 / audit_fraction in a row. It also audits steps in which copies of an answer differ. Loop
// thread only. Work on a device shares what it uses, so this object may be destroyed at any time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/audit/answer_log.h"
#include "runtime/audit/audit.h"
#include "runtime/audit/job_gradient.h"
#include "runtime/job.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

class Auditor {
 public:
  struct Finding {
    StepId step = 0;
    // The workers with wrong answers, once each. If empty, all answers are right but the decoded
    // sum is wrong.
    struct Worker {
      WorkerId worker = 0;
      uint32_t life = 0;  // The worker's AnswerLog::LifeOf when it answered.
      AuditResult::Verdict verdict;
      // Set if only this node says so, which sums a part of the vector: one of the two is wrong.
      std::optional<WorkerId> only_at;
    };
    std::vector<Worker> wrong;
    // Nodes whose sums are wrong, although the answers that they logged are right.
    std::vector<WorkerId> wrong_sums;
    // Some other worker's answer, in this audit or a later one, matched the server's result, so the
    // server's result is trusted. A doubtful finding is then reported again.
    bool confirmed = false;
    bool told = false;  // The finding was reported before, in doubt.
    double decode_error = 0;
  };
  struct Hooks {
    std::function<void(const Finding&)> found;
    std::function<void(const Status&)> failed;  // Runs for the first audit that fails.
    // Other nodes could not report this step, so it is not audited. The next one will be.
    std::function<void(StepId)> given_up;
    std::function<void()> idle;  // busy() may have become false.
  };

  // Audits compute on `device`. If updates use the same device, audits delay them.
  Auditor(Loop& loop, Device& device, const JobOptions& options,
          std::shared_ptr<JobGradient> gradient, const DataSource& data,
          const BatchSchedule& schedule, Hooks hooks);
  ~Auditor();

  AnswerLog& log() { return log_; }

  // The open step has its sum, and `commit` will apply it. It runs now, or after the running audit
  // if this step must be audited as well.
  void WhenFree(std::function<void()> commit);
  bool holding() const { return held_ != nullptr; }
  // Only one worker has answered this step so far, and its answer is not known to be right. Copies
  // of others help the step's audit even if they are too late for the step.
  bool NeedsCopies(StepId step) const;
  // Room for a copy of the decoded sum of a step, or null if the step will not be audited, for
  // example because the log follows another one. `parameters` are those of the step; null if other
  // nodes own the shards. Then Begin follows, or the job ends.
  std::shared_ptr<DecodedCopy> Prepare(StepId step,
                                       std::shared_ptr<const std::vector<float>> parameters,
                                       std::shared_ptr<const ApproximateSum> approximate);
  void Begin();  // The copy is filled. Does nothing if no audit was prepared.
  // If other nodes own the shards, they report what they have logged, with the parameters of the
  // step. The copy stays empty. An error gives the audit up.
  struct Reported {
    std::shared_ptr<const std::vector<float>> parameters;
    std::vector<OwnedShard> shards;
    std::vector<LoggedAnswer> answers;
  };
  void Begin(Result<Reported> reported);

  // The job has ended, so a held commit is dropped. With `hurry` a running audit is cancelled at
  // once. Otherwise, if audits have a time limit, it is cancelled after 2 s, or after their part of
  // the job's time if that is longer.
  void End(bool hurry);
  bool busy() const { return running_ || awaits_report(); }

  const AuditCounts& counts() const { return counts_; }  // Without the failures.
  double max_difference() const { return max_difference_; }

 private:
  // The inputs of an audit, which live as long as it runs.
  struct Work {
    std::shared_ptr<JobGradient> gradient;
    const DataSource& data;
    BatchSchedule schedule;
    std::atomic<bool> cancelled = false;
  };

  struct Asked {
    WorkerId worker;
    uint32_t life;
    std::optional<OwnedShard> at;  // Where it was logged; none: at the server.
  };

  bool Drawn(StepId step) const;
  bool Wanted() const;
  bool InTime() const;
  bool awaits_report() const { return request_ != nullptr && request_->parameters == nullptr; }
  void Run(std::unique_ptr<AuditRequest> prepared);
  void OnDone(StepId step, const Status& status);
  void OnIdle();
  void Report();
  void AddWrong(const Asked& asked, const AuditResult::Verdict& verdict, Finding& finding) const;
  void HearLate();
  bool Confirms(const Finding& finding) const;
  void Failed(StepId step, const Status& why);

  Loop& loop_;
  Device& device_;
  const uint64_t seed_;
  const double fraction_;
  const double time_;
  const StepId first_step_;
  StepId last_drawn_;
  const std::shared_ptr<Work> work_;
  const Hooks hooks_;
  AnswerLog log_;
  std::function<void()> held_;
  std::unique_ptr<AuditRequest> request_;  // The prepared audit.
  std::shared_ptr<DecodedCopy> decoded_;
  // The running audit, and the answers that it checks.
  bool running_ = false;
  StepId step_ = 0;
  std::vector<Asked> asked_;
  std::shared_ptr<AuditResult> result_;
  Time begun_{};
  Duration spent_{};
  const Time started_;
  bool look_again_ = false;   // Copies of an earlier step differed, so the next one is audited.
  bool alone_ = false;        // NeedsCopies(step_)
  std::vector<bool> agreed_;  // The workers whose answers the last audit confirmed.
  std::vector<Finding> doubtful_;  // The newest unconfirmed findings.
  AuditCounts counts_;
  double max_difference_ = 0;
  bool has_failed_ = false;
  TimerId end_timer_ = 0;
  Alive alive_;
};

}  // namespace motley
