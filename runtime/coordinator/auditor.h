// SPDX-License-Identifier: Apache-2.0
// Decides which steps are audited, runs one audit at a time, and says what it found. The first step
// is audited; of the others each with the chance that JobOptions::audit_fraction says, at least one
// of 1 / audit_fraction in a row; and those in which copies of an answer differ. Loop thread
// only; what a device works on is shared with its work, so this object may go at any time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/coordinator/server_model.h"
#include "runtime/job.h"
#include "runtime/shard/answer_log.h"
#include "runtime/shard/audit.h"
#include "runtime/shard/job_gradient.h"
#include "training/trainers/batch_schedule.h"

namespace motley {

class Auditor {
 public:
  struct Finding {
    StepId step = 0;
    // Whose answers are wrong, once each. Empty: what was decoded is, although they are right.
    struct Worker {
      WorkerId worker = 0;
      uint32_t life = 0;  // That it answered in (AnswerLog::LifeOf).
      AuditResult::Verdict verdict;
    };
    std::vector<Worker> wrong;
    // Some other worker's answer, in this audit or a later one, is what the server computed: so the
    // server can be believed. What was found before that is found again then.
    bool confirmed = false;
    bool told = false;  // It was found before, in doubt.
    double decode_error = 0;
  };
  struct Hooks {
    std::function<void(const Finding&)> found;
    std::function<void(const Status&)> failed;  // For the first audit that cannot be done.
    std::function<void()> idle;                 // busy() may have become false.
  };

  // Audits compute on `device`, which may be the one that updates are computed on: they are then in
  // its way.
  Auditor(Loop& loop, Device& device, const JobOptions& options,
          std::shared_ptr<JobGradient> gradient, const DataSource& data,
          const BatchSchedule& schedule, Hooks hooks);
  ~Auditor();

  AnswerLog& log() { return log_; }

  // The open step has its sum. `commit` is to apply it: it runs now, or once the audit that runs is
  // done where this step, too, has to be audited.
  void WhenFree(std::function<void()> commit);
  bool holding() const { return held_ != nullptr; }
  // One worker alone has answered this step, so far, and is not known to be right. Copies of others
  // are of use to the step's audit, although they come too late for the step.
  bool NeedsCopies(StepId step) const;
  // Room for a copy of what the open step is decoded to, if it is to be audited; else null. These
  // are the parameters that it was computed with. Then either Begin, or the job ends.
  std::shared_ptr<ServerModel::DecodedCopy> Prepare(
      std::shared_ptr<const std::vector<float>> parameters,
      std::shared_ptr<const ApproximateSum> approximate);
  void Begin();  // The copy is filled. Nothing if none was wanted.

  // The job has ended: what is held is dropped. With `hurry` an audit that runs is cancelled at
  // once. Without it, and where audits have a limit of time, it is cancelled after 2 s, or
  // after their part of the job's time when that is longer.
  void End(bool hurry);
  bool busy() const { return running_; }

  double max_decode_error() const { return max_decode_error_; }
  uint64_t audited_steps() const { return audited_steps_; }
  double max_difference() const { return max_difference_; }

 private:
  // What an audit reads, as long as it runs.
  struct Work {
    std::shared_ptr<JobGradient> gradient;
    const DataSource& data;
    BatchSchedule schedule;
    std::atomic<bool> cancelled = false;
  };

  bool Drawn(StepId step) const;
  bool Wanted() const;
  bool InTime() const;
  void OnDone(StepId step, const Status& status);
  void Report();
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
  std::unique_ptr<AuditRequest> request_;  // Prepared.
  std::shared_ptr<ServerModel::DecodedCopy> decoded_;
  // Of the audit that runs, and of the answers that it looks at.
  bool running_ = false;
  StepId step_ = 0;
  struct Asked {
    WorkerId worker;
    uint32_t life;
  };
  std::vector<Asked> asked_;
  std::shared_ptr<AuditResult> result_;
  Time begun_{};
  Duration spent_{};
  const Time started_;
  bool look_again_ = false;        // Copies of a step that is over differed: audit the next one.
  bool alone_ = false;             // NeedsCopies(step_)
  std::vector<bool> agreed_;       // By worker: it sent what the last audit computed.
  std::vector<Finding> doubtful_;  // Not confirmed yet; the newest.
  double max_decode_error_ = 0;
  uint64_t audited_steps_ = 0;
  double max_difference_ = 0;
  bool has_failed_ = false;
  TimerId end_timer_ = 0;
  Alive alive_;
};

}  // namespace motley
