// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rows/row_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coding/schemes.h"

namespace motley {
namespace {

constexpr Duration kVerdictPatience = std::chrono::seconds(1);

bool Any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

bool Owns(const Plan& plan, WorkerId worker, RowId row) {
  const std::span<const RowId> own = plan.RowsOf(worker);
  return std::find(own.begin(), own.end(), row) != own.end();
}

// The free worker that holds most of the row, then the fastest, then the first. A worker with a
// refused answer in this step is picked only when nobody else can be counted on.
std::optional<WorkerId> PickHelper(const JobState& job, const UpdateState& update,
                                   const std::vector<CodeEntry>& row) {
  const bool alone = update.refusals.OnlyTheyAreLeft(job.members, job.now);
  std::optional<WorkerId> best;
  for (WorkerId id = 0; id < job.members.size(); ++id) {
    const Worker& worker = job.members[id];
    if (!worker.live || !worker.free || (update.refusals.Has(id) && !alone)) continue;
    if (!best) {
      best = id;
      continue;
    }
    const uint32_t missing = MissingPartitions(worker, row);
    const uint32_t best_missing = MissingPartitions(job.members[*best], row);
    const bool faster = worker.speed() > job.members[*best].speed();
    if (missing < best_missing || (missing == best_missing && faster)) best = id;
  }
  return best;
}

// A worker that is late with the row may be nearly done, so it is given as much time as sending the
// data to another would take. A wrong guess then costs at most twice as much as the right one would
// have.
Time WorthSendingFrom(const JobState& job, const RowWork& work, WorkerId helper, RowId row) {
  const Plan& plan = work.plan();
  const uint32_t missing = MissingPartitions(job.members[helper], plan.code->rows[row]);
  if (missing == 0) return Time::min();
  const Duration sending = FromSeconds(job.deadlines.TransferSeconds(missing));
  Time from = Time::min();
  for (const Assignment& late : work.book().pending()) {
    if (late.row == row) from = std::max(from, late.due + sending);
  }
  // Owners may still be busy with the previous step.
  for (const WorkerId id : plan.members) {
    const Worker& worker = job.members[id];
    if (!worker.live || worker.free || work.book().Pending(id)) continue;
    if (Owns(plan, id, row)) {
      from = std::max(from, worker.waiting_since + worker.patience + sending);
    }
  }
  return from;
}

// Gives each free worker its own rows.
void AssignToFree(const JobState& job, RowWork& work, const Plan& plan) {
  for (const WorkerId id : plan.members) {
    if (job.members.Live(id) && job.members[id].free) work.AssignOwn(id);
  }
}

// The smallest row that a worker has in hand.
std::optional<RowId> SmallestInHand(const RowWork& work) {
  std::optional<RowId> smallest;
  const auto& rows = work.plan().code->rows;
  for (RowId row = 0; row < work.book().rows(); ++row) {
    if (!work.book().InHand(row)) continue;
    if (!smallest || rows[row].size() < rows[*smallest].size()) smallest = row;
  }
  return smallest;
}

}  // namespace

RowEngine::RowEngine(JobState& job, UpdateState& update, Plan plan)
    : job_(job),
      update_(update),
      plans_(job, std::move(plan)),
      work_(job, update, plans_),
      early_(job.options),
      grants_(job, work_.book()) {}

void RowEngine::Report(SchedulerStats& stats) const {
  const Plan& plan = plans_.plan();
  if (plan.code != nullptr) stats.tolerates = plan.code->stragglers;
  for (size_t i = 0; i < plan.members.size(); ++i) {
    stats.workers[plan.members[i]].share =
        static_cast<double>(plan.LoadOf(i)) / job_.options.partitions;
  }
}

// --- The beginning and the end of a step ---

StepResult RowEngine::Open() {
  verdict_due_ = replace_due_ = kNever;
  work_.Open();
  early_.Open(plans_.plan().code, job_.now);
  grants_.Open(plans_.plan(), update_.id);
  work_.SetWaits(grants_.waiting());
  for (const WorkerId id : plans_.plan().members) {
    if (!job_.members.Live(id) || update_.refusals.Has(id)) continue;
    const Worker& worker = job_.members[id];
    if (worker.free) {
      if (!grants_.InReserve(id)) work_.AssignOwn(id);
      continue;
    }
    if (job_.options.sync.one_each) continue;  // Another worker does it.
    for (const RowId row : plans_.plan().RowsOf(id)) {
      work_.book().AwaitOwner(row, worker.waiting_since + worker.patience);
    }
  }
  TryWorkersWithoutShare();
  work_.book().MarkOverdue(job_.now);
  ReplaceAbsent();
  return TakeResult();
}

// A worker that is too slow for a share would never be measured again. Now and then, and more
// rarely each time it disappoints, it also gets the smallest row. This shows its speed and delays
// nobody.
void RowEngine::TryWorkersWithoutShare() {
  work_.EndTries(/*all=*/false);
  // The other workers are not too slow, but too many, or they have updates of their own.
  if (job_.options.most_workers > 0 || job_.options.sync.answers_differ()) return;
  const std::optional<RowId> smallest = SmallestInHand(work_);
  if (!smallest) return;
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    const Worker& worker = job_.members[id];
    uint32_t& pause = job_.HabitsOf(id).try_after;
    const bool has_share = !plans_.plan().RowsOf(id).empty();
    if (has_share) pause = LeaseHabits::kFirstTry;
    if (!worker.live || !worker.free || has_share) continue;
    // The result of its last work was a surprise, so it is measured again.
    const bool surprise = worker.estimator.measurements() > 0 && !worker.estimator.settled();
    if (update_.id < worker.assigned_in + (surprise ? LeaseHabits::kFirstTry : pause)) continue;
    if (!surprise) pause = std::min(2 * pause, LeaseHabits::kLastTry);
    work_.Try(id, *smallest);
  }
}

void RowEngine::Close(bool approximately) {
  job_.Do(CommitStep{update_.id, approximately});
  update_.phase = UpdateState::Phase::kEnough;
  result_.kind = StepResult::Kind::kClosed;
  early_.Close(approximately);
  grants_.End();
  work_.TakeAllBack(/*late=*/true);
  for (const WorkerId member : plans_.plan().members) {
    Worker& worker = job_.members[member];
    if (plans_.plan().RowsOf(member).empty() || !worker.live || worker.free) continue;
    if (worker.heard) continue;
    ++worker.silent_steps;
    // The worker was still busy with an earlier step and was not even given its row.
    if (worker.assigned_in < update_.id) ++worker.stats.late;
  }
}

void RowEngine::Cancel() {
  grants_.End();
  work_.EndTries(/*all=*/true);
  work_.TakeAllBack(/*late=*/false);
}

// --- Time ---

Time RowEngine::Due() const {
  return std::min(
      {work_.book().NextDue(), verdict_due_, replace_due_, early_.Due(), grants_.Due()});
}

Time RowEngine::AnswersDue() const {
  Time due = Time::min();
  for (const Assignment& assignment : work_.book().pending()) {
    if (assignment.sending != Sending::kHeld) due = std::max(due, assignment.due);
  }
  return due;
}

void RowEngine::On(const Tick&) {
  if (job_.now >= verdict_due_) return GiveUpOnCode();
  if (work_.book().MarkOverdue(job_.now) || job_.now >= replace_due_) ReplaceAbsent();
  if (update_.open() && !GoOnWithout()) grants_.Give(/*all=*/starved_);
}

// Everything arrived and does not decode, or only with errors beyond the limits. The job goes on
// without a code rather than not at all.
void RowEngine::GiveUpOnCode() {
  if (!SchemeNamed(job_.options.code).keeps_copies) {
    result_ = {StepResult::Kind::kFailed,
               Status::Internal(fmt::format("step {}: all answers arrived and do not add up to the "
                                            "gradient; please report this",
                                            update_.id))};
    return;
  }
  job_.Say(notice::NotDecodable{update_.id});
  job_.options.code = "none";
  job_.plan_void = true;
  Status planned = plans_.Update();
  const auto kind = planned.ok() ? StepResult::Kind::kRestart : StepResult::Kind::kFailed;
  result_ = {kind, std::move(planned)};
}

// --- Messages of workers ---

StepResult RowEngine::OnEvent(const Event& event) {
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { On(e); }) On(e);  // Events of leases do not concern it.
      },
      event);
  return TakeResult();
}

void RowEngine::On(const WorkerFree& event) {
  work_.Ended(event);
  grants_.Freed(event.worker);
  if (update_.open() && job_.members[event.worker].free) GiveWork(event.worker);
  if (update_.open()) grants_.Give(/*all=*/starved_);
}

// A worker is free while a step is open. It does its own rows first, unless other workers do these
// and other rows are absent.
void RowEngine::GiveWork(WorkerId worker) {
  const std::vector<RowId> own = work_.OwnToDo(worker);
  const bool in_hand =
      std::all_of(own.begin(), own.end(), [this](RowId row) { return work_.book().InHand(row); });
  if (starved_ && in_hand) ReplaceAbsent();
  if (!update_.open() || !job_.members[worker].free || grants_.InReserve(worker)) return;
  work_.AssignOwn(worker);
}

// A worker that leases had found silent is free with its next message.
void RowEngine::Spoke(WorkerId id) {
  Worker& worker = job_.members[id];
  if (worker.free || !worker.ready || worker.queued > 0) return;
  worker.free = true;
  job_.TakeBack(id);
  if (update_.open()) GiveWork(id);
}

void RowEngine::On(const RowArrived& event) {
  if (!work_.InStep(event.step, event.row)) return;
  if (work_.kept().keeping()) {
    work_.Kept(event.worker, event.row);
    return AskWhenEnough();
  }
  if (work_.book().Arrived(event.row)) return;
  grants_.Arrived(event.worker, event.row);
  work_.Arrived(event.worker, event.row);
  early_.RowArrived(event.row);
  if (GoOnWithout()) return;
  if (work_.book().AllArrived()) verdict_due_ = job_.now + kVerdictPatience;
  if (starved_) ReplaceAbsent();
  if (update_.open()) grants_.Give(/*all=*/starved_);
}

void RowEngine::On(const RowReady& event) {
  if (!work_.InStep(event.step, event.row)) return;
  if (grants_.CallReserve()) AssignToFree(job_, work_, plans_.plan());
  grants_.Asked(event.worker, event.row);
  if (update_.open()) grants_.Give(/*all=*/starved_);
}

void RowEngine::On(const RowLate& event) {
  Spoke(event.worker);
  if (work_.InStep(event.step, event.row)) work_.CameLate(event.worker, event.row);
}

RefusalKind RowEngine::Refused(const RowRejected& event) {
  const bool open = work_.InStep(event.step, event.row);
  const bool taken = open && work_.TakeRefused(event.worker, event.row);
  // One bad step of a worker counts as one refusal, however many rows it was given.
  if (open && work_.plan().SeveralRows() && !taken && !event.touched) return RefusalKind::kNot;
  if (!open) return RefusalKind::kEarlier;
  // If the sums are touched, the whole step begins again.
  if (!event.touched) work_.TakeBack(event.worker, /*is_told=*/true);
  return RefusalKind::kInStep;
}

// --- Rows that nobody works on ---

void RowEngine::Gone(WorkerId worker) {
  work_.TakeBack(worker, /*is_told=*/false);
  grants_.Gone(worker);
  if (plans_.plan().code == nullptr) return;
  for (const RowId row : work_.kept().Lose(worker)) work_.book().Unarrive(row);
  for (const RowId row : work_.plan().RowsOf(worker)) {
    if (row < work_.book().rows()) work_.book().OwnerGone(row);
  }
}

StepResult RowEngine::Replace() {
  ReplaceAbsent();
  if (update_.open()) grants_.Give(/*all=*/starved_);
  return TakeResult();
}

void RowEngine::ReplaceAbsent() {
  starved_ = false;
  replace_due_ = kNever;
  if (work_.kept().keeping()) {
    AssignToFree(job_, work_, plans_.plan());  // They take rows that are needed again.
    return AskWhenEnough();
  }
  const RowBook& book = work_.book();
  // If a step can end without some rows, no worker computes another's row. It still needs at least
  // one row.
  if (GoOnWithout() || (early_.wanted() && (early_.any() || !book.NothingInHand()))) return;
  const std::vector<bool> absent = book.Absent();
  if (!Any(absent)) return;
  std::vector<RowId> rows = RowsToReplace(absent);
  if ((!rows.empty() || book.NothingInHand()) && grants_.CallReserve()) {
    AssignToFree(job_, work_, plans_.plan());
    return ReplaceAbsent();
  }
  if (rows.empty() && book.NothingInHand()) {
    // Everything that will come is there and does not decode, so every answer is needed.
    for (RowId row = 0; row < absent.size(); ++row) {
      if (absent[row]) rows.push_back(row);
    }
  }
  GiveToHelpers(rows);
}

std::vector<RowId> RowEngine::RowsToReplace(const std::vector<bool>& absent) {
  const auto& code = work_.plan().code;
  if (!replacement_ || replacement_->form() != code) replacement_.emplace(code);
  return replacement_->RowsFor(absent);
}

void RowEngine::GiveToHelpers(const std::vector<RowId>& rows) {
  for (const RowId row : rows) {
    const auto helper = PickHelper(job_, update_, work_.plan().code->rows[row]);
    if (!helper) {
      starved_ = true;
      continue;
    }
    if (const Time from = WorthSendingFrom(job_, work_, *helper, row); from > job_.now) {
      replace_due_ = std::min(replace_due_, from);
      continue;
    }
    // Workers with updates of their own use different versions, which must not meet in one sum.
    if (job_.options.sync.answers_differ() && work_.book().Attempts(row) > 0) {
      ++update_.begun_again;
      result_.kind = StepResult::Kind::kRestart;
      return;
    }
    const bool owner = Owns(work_.plan(), *helper, row);
    if (work_.book().Attempts(row) > 0 || !owner) ++job_.totals.rows_reassigned;
    work_.Assign(*helper, row);
  }
}

// Ends the step with the rows that are there if they are enough without decoding.
bool RowEngine::GoOnWithout() {
  if (!early_.wanted()) return false;
  const RowBook& book = work_.book();
  if (book.NothingInHand()) {
    Duration patience{};
    for (const Assignment& late : book.pending()) {
      patience = std::max(patience, late.due - late.assigned);
    }
    early_.AllOverdue(job_.now, patience);
  }
  const bool at_work = !book.pending().empty() || !book.NothingInHand();
  if (!early_.Enough(job_.now, at_work)) return false;
  Close(/*approximately=*/true);
  return true;
}

// --- Rows that are kept ---

void RowEngine::AskWhenEnough() {
  if (!update_.open() || !work_.kept().keeping()) return;
  if (work_.book().AllArrived() || work_.book().NothingInHand()) AskForAnswers();
}

void RowEngine::AskForAnswers() {
  const std::vector<WorkerId>& members = plans_.plan().members;
  std::vector<bool> awake;
  for (const WorkerId id : members) {
    const Worker& worker = job_.members[id];
    awake.push_back(worker.live && worker.ready && !worker.Overdue(job_.now) &&
                    !update_.refusals.Has(id));
  }
  for (const WorkerId late : work_.DropAll()) {
    const auto at = std::find(members.begin(), members.end(), late);
    if (at != members.end()) awake[static_cast<size_t>(at - members.begin())] = false;
  }
  if (Status opened = work_.OpenAnswers(awake); !opened.ok()) {
    result_ = {StepResult::Kind::kFailed, std::move(opened)};
    return;
  }
  // A worker that is busy with a row that is not needed stops and does this row next.
  for (size_t i = 0; i < awake.size(); ++i) {
    if (awake[i]) work_.AssignOwn(members[i]);
  }
  ReplaceAbsent();
}

}  // namespace motley
