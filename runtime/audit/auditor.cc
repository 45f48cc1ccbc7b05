// SPDX-License-Identifier: Apache-2.0
#include "runtime/audit/auditor.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/random.h"
#include "runtime/saving/saved_job.h"

namespace motley {
namespace {

// The part of the job's time for audits of steps that were not drawn but whose copies differ.
constexpr double kTimeWhereCopiesDiffer = 0.1;
constexpr size_t kMostDoubtful = 8;
constexpr StepId kStepsAlone = 64;  // Steps to wait for a late copy.
// The least time that the end of a job waits for a running audit.
constexpr double kEndSeconds = 2;

bool Fits(const Auditor::Reported& reported, const StepAnswers& answers) {
  const Slicing& cut = answers.cut;
  const auto fits = [&](const LoggedAnswer& each) {
    return each.row < answers.form->rows.size() && each.worker < answers.lives.size() &&
           each.sketches.size() == cut.first_slice(each.shard + 1) - cut.first_slice(each.shard);
  };
  return reported.shards.size() == cut.shards() &&
         std::all_of(reported.answers.begin(), reported.answers.end(), fits);
}

}  // namespace

Auditor::Auditor(Loop& loop, Device& device, const JobOptions& options,
                 std::shared_ptr<JobGradient> gradient, const DataSource& data,
                 const BatchSchedule& schedule, Hooks hooks)
    : loop_(loop),
      device_(device),
      seed_(options.seed ^ options.audit_secret),
      fraction_(options.audit_fraction),
      time_(options.audit_time),
      first_step_(options.resume != nullptr ? options.resume->step : 0),
      last_drawn_(first_step_),
      work_(new Work{std::move(gradient), data, schedule}),
      hooks_(std::move(hooks)),
      log_(options.workers, options.job_id, options.audit_secret,
           [this](StepId step) { return Drawn(step); }),
      started_(loop.Now()),
      agreed_(options.workers, false) {
  if (options.resume == nullptr) return;
  counts_ = options.resume->about.history;
}

Auditor::~Auditor() {
  if (end_timer_ != 0) loop_.Cancel(end_timer_);
}

bool Auditor::Drawn(StepId step) const {
  if (fraction_ == 0 || !work_->gradient->can_sum()) return false;
  Random random(seed_, Stream::kAudit, step);
  const bool due = static_cast<double>(step - last_drawn_) * fraction_ >= 1;
  return random.Chance(fraction_) || due || step == first_step_;
}

// The open step is to be audited.
bool Auditor::Wanted() const {
  if (fraction_ == 0 || !work_->gradient->can_sum()) return false;
  return log_.drawn() || log_.copies_differ() || look_again_;
}

bool Auditor::NeedsCopies(StepId step) const {
  if (alone_) return step == step_;
  return !running_ && step == log_.step() && log_.secret() && log_.OneAnswered();
}

bool Auditor::InTime() const {
  const bool drawn = log_.drawn();
  if (drawn && (time_ == 0 || log_.step() == first_step_)) return true;
  const double share = drawn ? time_ : kTimeWhereCopiesDiffer;
  return ToSeconds(spent_) <= share * ToSeconds(loop_.Now() - started_);
}

void Auditor::WhenFree(std::function<void()> commit) {
  look_again_ |= log_.TakeLateDifference();
  HearLate();
  if (log_.step() > step_ + kStepsAlone) alone_ = false;
  if (!busy() || time_ > 0 || !log_.drawn()) return commit();
  held_ = std::move(commit);
}

std::shared_ptr<DecodedCopy> Auditor::Prepare(StepId step,
                                              std::shared_ptr<const std::vector<float>> parameters,
                                              std::shared_ptr<const ApproximateSum> approximate) {
  const bool wanted = log_.Keeps(step) && !busy() && !alone_ && Wanted() && InTime();
  if (log_.drawn()) last_drawn_ = log_.step();
  if (!wanted) {
    look_again_ |= fraction_ > 0 && log_.copies_differ();
    return nullptr;
  }
  look_again_ = false;
  result_ = nullptr;  // Late copies belong to this step from now on.
  alone_ = parameters != nullptr && log_.OneAnswered();
  begun_ = loop_.Now();
  request_ = std::make_unique<AuditRequest>(
      AuditRequest{std::move(parameters), log_.Take(), {}, std::move(approximate)});
  step_ = request_->answers.step;
  decoded_ = std::make_shared<DecodedCopy>(std::vector<float>());
  return decoded_;
}

void Auditor::Begin() {
  if (request_ == nullptr || awaits_report()) return;
  const auto decoded = std::exchange(decoded_, nullptr);
  if (!decoded->ok()) {
    alone_ = false;
    request_ = nullptr;
    return Failed(step_, decoded->status());
  }
  request_->decoded = *std::move(*decoded);
  begun_ = loop_.Now();
  Run(std::exchange(request_, nullptr));
}

void Auditor::Begin(Result<Reported> reported) {
  if (!awaits_report()) return;  // The job has ended.
  decoded_ = nullptr;
  std::unique_ptr<AuditRequest> request = std::exchange(request_, nullptr);
  if (reported.ok() && !Fits(*reported, request->answers)) {
    reported = Status::DataError("a node reports answers that the step does not have");
  }
  if (!reported.ok()) {
    look_again_ = true;
    spent_ += loop_.Now() - begun_;
    if (hooks_.given_up) hooks_.given_up(step_);
    Failed(step_, reported.status());
    return OnIdle();
  }
  request->parameters = std::move(reported->parameters);
  request->answers.shards = std::move(reported->shards);
  request->answers.answers = std::move(reported->answers);
  // A worker that was lost in this step had the life with which the step began.
  for (LoggedAnswer& answer : request->answers.answers) {
    answer.life = request->answers.lives[answer.worker];
  }
  Run(std::move(request));
}

void Auditor::Run(std::unique_ptr<AuditRequest> prepared) {
  const std::shared_ptr<AuditRequest> request = std::move(prepared);
  asked_.clear();
  const std::vector<OwnedShard>& shards = request->answers.shards;
  for (const LoggedAnswer& answer : request->answers.answers) {
    asked_.push_back({answer.worker, answer.life, std::nullopt});
    if (!shards.empty()) asked_.back().at = shards[answer.shard];
  }
  result_ = std::make_shared<AuditResult>();
  auto work = [&device = device_, shared = work_, request, result = result_]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(*result,
                            Audit(device, *shared->gradient, shared->data, shared->schedule,
                                  std::move(*request), shared->cancelled));
    return Status::Ok();
  };
  // This thread releases the parameters, so the model may then reuse their memory.
  device_.Submit(work_->schedule.batch_size(step_), std::move(work),
                 alive_.Guard([this, step = step_, keep = request->parameters](
                                  const Status& status) { OnDone(step, status); }));
  running_ = true;  // Set last: if memory runs out above, OnDone never comes.
}

void Auditor::OnDone(StepId step, const Status& status) {
  running_ = false;
  spent_ += loop_.Now() - begun_;
  if (status.ok()) {
    ++counts_.audited_steps;
    counts_.max_decode_error = std::max(counts_.max_decode_error, result_->decode_error);
    Report();
  } else {
    alone_ = false;
    if (!work_->cancelled) Failed(step, status);
  }
  OnIdle();
}

void Auditor::OnIdle() {
  if (end_timer_ != 0) loop_.Cancel(std::exchange(end_timer_, 0));
  if (const auto commit = std::exchange(held_, nullptr)) commit();
  if (hooks_.idle) hooks_.idle();
}

void Auditor::Report() {
  Finding finding{.step = step_,
                  .wrong = {},
                  .wrong_sums = result_->misdecoded_by,
                  .confirmed = false,
                  .decode_error = 0};
  // An answer that was right before does not show that the server still is.
  std::fill(agreed_.begin(), agreed_.end(), false);
  for (size_t i = 0; i < asked_.size(); ++i) {
    const AuditResult::Verdict& verdict = result_->verdicts[i];
    const Asked& asked = asked_[i];
    if (verdict.off == nullptr) {
      max_difference_ = std::max(max_difference_, verdict.difference);
      if (verdict.confirms) agreed_[asked.worker] = true;
      continue;
    }
    AddWrong(asked, verdict, finding);
  }
  alone_ &= !finding.wrong.empty();
  HearLate();
  finding.decode_error = result_->decode_error;
  finding.confirmed = Confirms(finding);
  const bool sums = result_->misdecoded || !finding.wrong_sums.empty();
  if (!finding.wrong.empty() || sums) hooks_.found(finding);
  if (finding.wrong.empty() || finding.confirmed) return;
  if (doubtful_.size() == kMostDoubtful) doubtful_.erase(doubtful_.begin());
  doubtful_.push_back(std::move(finding));
}

// A worker that sums a part of the vector could claim that another worker's answer is wrong. So two
// nodes have to say so, of which one may be the worker itself, or a shard server.
void Auditor::AddWrong(const Asked& asked, const AuditResult::Verdict& verdict,
                       Finding& finding) const {
  const auto same = [&](const auto& other) { return other.worker == asked.worker; };
  const auto found = std::find_if(finding.wrong.begin(), finding.wrong.end(), same);
  const bool alone = asked.at && !asked.at->trusted;
  if (found == finding.wrong.end()) {
    finding.wrong.push_back({asked.worker, asked.life, verdict, std::nullopt});
    if (alone) finding.wrong.back().only_at = asked.at->owner;
  } else if (!alone || found->only_at != asked.at->owner) {
    found->only_at.reset();
  }
}

// Late copies also show which answer is right, and so do later steps.
void Auditor::HearLate() {
  if (result_ == nullptr || running_) return;
  for (const LateSlice& late : log_.late()) {
    if (alone_ && late.worker != asked_.front().worker) alone_ = false;
    if (result_->Agrees(late)) agreed_[late.worker] = true;
  }
  const auto sure = std::stable_partition(doubtful_.begin(), doubtful_.end(),
                                          [this](const Finding& f) { return !Confirms(f); });
  std::vector<Finding> found(std::make_move_iterator(sure),
                             std::make_move_iterator(doubtful_.end()));
  doubtful_.erase(sure, doubtful_.end());
  for (Finding& finding : found) {
    finding.confirmed = finding.told = true;
    hooks_.found(finding);
  }
}

bool Auditor::Confirms(const Finding& finding) const {
  for (WorkerId worker = 0; worker < agreed_.size(); ++worker) {
    const auto is = [&](const auto& wrong) { return wrong.worker == worker; };
    if (agreed_[worker] && std::none_of(finding.wrong.begin(), finding.wrong.end(), is)) {
      return true;
    }
  }
  return false;
}

// Reports once, because a reader of the report must know that some audits are missing.
void Auditor::Failed(StepId step, const Status& why) {
  if (std::exchange(has_failed_, true) || !hooks_.failed) return;
  hooks_.failed(why.WithContext(fmt::format("step {} could not be audited", step)));
}

void Auditor::End(bool hurry) {
  held_ = nullptr;
  if (hurry) work_->cancelled = true;
  if (hurry && awaits_report()) request_ = nullptr;
  if (hurry || !busy() || time_ == 0) return;
  const double limit = std::max(kEndSeconds, time_ * ToSeconds(loop_.Now() - started_));
  end_timer_ = loop_.After(FromSeconds(limit), [this, limit] {
    end_timer_ = 0;
    work_->cancelled = true;
    Failed(step_, Status::Cancelled(fmt::format("the job had ended {:.3g} s before", limit)));
    if (!awaits_report()) return;
    request_ = nullptr;
    OnIdle();
  });
}

}  // namespace motley
