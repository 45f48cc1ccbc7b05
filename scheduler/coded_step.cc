// SPDX-License-Identifier: Apache-2.0
// What CodedScheduler does while a step is open.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/coded_scheduler.h"

namespace motley {
namespace {

constexpr uint32_t kMaxBackoff = 6;  // Deadlines grow up to 2^6 times while a row is passed on.
constexpr Duration kVerdictPatience = std::chrono::seconds(1);
constexpr Duration kLongestTry = std::chrono::seconds(1);

}  // namespace

bool CodedScheduler::Open(StepId step, RowId row) const {
  return phase_ == Phase::kRunning && step == step_ && row < open_.rows();
}

void CodedScheduler::OpenStepNow() {
  verdict_due_ = replace_due_ = kNever;
  answers_.reset();
  if (plan_.code->kept_parts > 0) kept_.Open(plan_.code);
  open_.Open(step_, *plan_.code);
  early_.Open(plan_.code, now_);
  Do(OpenStep{step_, plan_.code});
  for (const WorkerId id : plan_.members) {
    if (!members_.Live(id) || RejectedInStep(id)) continue;
    const Worker& worker = members_[id];
    if (worker.free) {
      AssignOwn(id);
      continue;
    }
    for (const RowId row : plan_.RowsOf(id)) {
      open_.AwaitOwner(row, worker.waiting_since + worker.patience);
    }
  }
  Probe();
  open_.MarkOverdue(now_);
  // The decoder can judge absent rows only once it has carried out OpenStep: at the next tick.
  const std::vector<bool> absent = open_.Absent();
  recheck_ = starved_ = std::find(absent.begin(), absent.end(), true) != absent.end();
}

Time CodedScheduler::StepDue() const {
  return recheck_ ? now_ : std::min({open_.NextDue(), verdict_due_, replace_due_, early_.Due()});
}

void CodedScheduler::TickInStep() {
  if (now_ >= verdict_due_) return GiveUpOnCode();
  if (open_.MarkOverdue(now_) || recheck_ || now_ >= replace_due_) ReplaceAbsent();
  if (phase_ == Phase::kRunning) GoOnWithout();
}

Time CodedScheduler::AnswersDue() const {
  Time due = Time::min();
  for (const Assignment& assignment : open_.pending()) due = std::max(due, assignment.due);
  return due;
}

// A worker too slow for a share would never be measured again: now and then, more rarely each time
// it disappoints, it gets the smallest row as well, which shows its speed and delays nobody. Where
// its speed was not measured yet, it may end that, although others have answered: steps may be so
// short that its copies always come too late.
void CodedScheduler::Probe() {
  EndTries(/*all=*/false);
  if (options_.most_workers > 0) return;  // They are not too slow, but too many.
  RowId smallest = 0;
  for (RowId row = 0; row < open_.rows(); ++row) {
    if (!open_.InHand(row)) continue;
    const auto& rows = plan_.code->rows;
    if (!open_.InHand(smallest) || rows[row].size() < rows[smallest].size()) smallest = row;
  }
  if (open_.rows() == 0 || !open_.InHand(smallest)) return;
  habits_.resize(std::max<size_t>(habits_.size(), members_.size()));
  for (WorkerId id = 0; id < members_.size(); ++id) {
    const Worker& worker = members_[id];
    uint32_t& pause = habits_[id].try_after;
    if (!plan_.RowsOf(id).empty()) pause = LeaseHabits::kFirstTry;
    if (!worker.live || !worker.free || !plan_.RowsOf(id).empty()) continue;
    // What it did last was not what was thought: that is looked into.
    const bool surprise = worker.estimator.measurements() > 0 && !worker.estimator.settled();
    if (step_ < worker.assigned_in + (surprise ? LeaseHabits::kFirstTry : pause)) continue;
    if (!surprise) pause = std::min(2 * pause, LeaseHabits::kLastTry);
    if (!worker.estimator.settled()) tried_[id] = now_;
    Assign(id, smallest);
  }
}

bool CodedScheduler::Trying(WorkerId worker) const {
  return worker < tried_.size() && tried_[worker] != Time{} && now_ - tried_[worker] <= kLongestTry;
}

void CodedScheduler::EndTries(bool all) {
  tried_.resize(members_.size());
  for (WorkerId id = 0; id < members_.size(); ++id) {
    if (tried_[id] == Time{} || (!all && Trying(id))) continue;
    tried_[id] = Time{};
    Cancel(id);
  }
}

// Of the worker's own rows those that are not there, and that it is not busy with.
std::vector<RowId> CodedScheduler::OwnToDo(WorkerId worker) const {
  std::vector<RowId> rows;
  if (RejectedInStep(worker)) return rows;
  for (const RowId row : Work().RowsOf(worker)) {
    if (IsToDo(worker, row)) rows.push_back(row);
  }
  return rows;
}

void CodedScheduler::AssignOwn(WorkerId worker) {
  if (RejectedInStep(worker)) return;
  for (const RowId row : Work().RowsOf(worker)) {
    if (IsToDo(worker, row)) Assign(worker, row, true);
  }
}

// What it lacks of the row.
void CodedScheduler::Place(WorkerId id, RowId row, Assignment& assignment) {
  placed_.resize(members_.size());
  if (!answers_) {  // Whose rows have the same numbers.
    Placed& placed = placed_[id];
    if (placed.plan == plan_number_ && placed.row == row) return;
    placed = {plan_number_, row};
  }
  std::vector<PartitionId> missing;
  for (const CodeEntry& entry : Work().code->rows[row]) {
    if (!members_[id].holds[entry.partition]) missing.push_back(entry.partition);
  }
  assignment.placed = static_cast<uint32_t>(missing.size());
  if (!missing.empty()) SendData(id, std::move(missing), DataWatch::Why::kNeeded);
}

void CodedScheduler::Assign(WorkerId id, RowId row, bool as_planned) {
  Worker& worker = members_[id];
  Assignment assignment;
  assignment.worker = id;
  assignment.row = row;
  assignment.assigned = now_;
  assignment.copy = as_planned && Work().SeveralRows();
  Place(id, row, assignment);
  assignment.own_samples = SamplesToCompute(id, row);
  assignment.samples = assignment.own_samples;
  if (const Assignment* before = open_.LastOf(id); before != nullptr) {
    assignment.placed += before->placed;
    assignment.samples += before->samples;
  }
  assignment.expected_seconds = ExpectedSeconds(assignment);
  assignment.guessed = !worker.estimator.settled();
  worker.patience = Limit(assignment) * (1 << std::min(open_.Attempts(row), kMaxBackoff));
  worker.waiting_since = now_;
  worker.free = false;
  ++worker.queued;
  worker.assigned_in = step_;
  assignment.due = now_ + worker.patience;
  open_.OwnerGone(row);  // Whoever was awaited, somebody has it now.
  open_.Add(assignment);
  Do(AssignRow{id, step_, row});
}

double CodedScheduler::SamplesToCompute(WorkerId worker, RowId row) const {
  const double each = static_cast<double>(options_.batch) / options_.partitions;
  if (!answers_) return static_cast<double>(plan_.code->rows[row].size()) * each;
  return static_cast<double>(PartitionsNotKept(worker, row)) * each;
}

// Under another code its answers took the links as well, or nearly.
Duration CodedScheduler::Limit(const Assignment& assignment) const {
  if (answers_) return answer_deadlines_.Limit(assignment.expected_seconds, assignment.placed);
  const WorkerId worker = assignment.worker;
  const double wait = went_on_ && worker < habits_.size() ? habits_[worker].Wait() : 0;
  return deadlines_.Limit(assignment.expected_seconds, assignment.placed, wait);
}

double CodedScheduler::ExpectedSeconds(const Assignment& assignment) const {
  // What was measured, not the bound: waiting longer for one that answers nothing gains nothing.
  const double speed = members_[assignment.worker].estimator.samples_per_second();
  const double compute = speed > 0 ? assignment.samples / speed : 0;
  return answers_ ? compute + answer_seconds_.Limit(0) : compute;
}

// A worker is free while a step is open: its own rows first, unless those are in good hands and
// others are not.
void CodedScheduler::GiveWork(WorkerId worker) {
  const std::vector<RowId> own = OwnToDo(worker);
  const bool in_hand =
      std::all_of(own.begin(), own.end(), [this](RowId row) { return open_.InHand(row); });
  if (starved_ && in_hand) ReplaceAbsent();
  if (phase_ == Phase::kRunning && members_[worker].free) AssignOwn(worker);
}

// Whether the step ended with what is there, though that does not decode.
bool CodedScheduler::GoOnWithout() {
  if (!early_.wanted()) return false;
  if (open_.NothingInHand()) {
    Duration patience{};
    for (const Assignment& late : open_.pending()) {
      patience = std::max(patience, late.due - late.assigned);
    }
    early_.AllOverdue(now_, patience);
  }
  const bool at_work = !open_.pending().empty() || !open_.NothingInHand();
  if (!early_.Enough(now_, at_work)) return false;
  CloseStep(true);
  return true;
}

// Of one that leases had found silent nothing but a word is to be waited for.
void CodedScheduler::Spoke(WorkerId id) {
  Worker& worker = members_[id];
  if (worker.free || !worker.ready || worker.queued > 0) return;
  worker.free = true;
  TakeBack(id);
  if (phase_ == Phase::kRunning) GiveWork(id);
}

void CodedScheduler::ReplaceAbsent() {
  starved_ = false;
  recheck_ = false;
  replace_due_ = kNever;
  if (Keeping()) {
    HandOutKept();
    return AskWhenEnough();
  }
  // Where a step can do without rows, nobody computes another's; but it cannot do without any.
  if (GoOnWithout() || (early_.wanted() && (early_.any() || !open_.NothingInHand()))) return;
  const std::vector<bool> absent = open_.Absent();
  if (std::find(absent.begin(), absent.end(), true) == absent.end()) return;
  std::vector<RowId> rows = rows_to_replace_(absent);
  if (rows.empty() && open_.NothingInHand()) {
    // All that will come is there and does not decode: no answer may be missing then.
    for (RowId row = 0; row < absent.size(); ++row) {
      if (absent[row]) rows.push_back(row);
    }
  }
  for (const RowId row : rows) {
    if (row >= absent.size() || !absent[row]) continue;
    const auto helper = PickHelper(row);
    if (!helper) {
      starved_ = true;
      continue;
    }
    if (const Time from = WorthSendingFrom(*helper, row); from > now_) {
      replace_due_ = std::min(replace_due_, from);
      continue;
    }
    const auto own = Work().RowsOf(*helper);
    const bool owner = std::find(own.begin(), own.end(), row) != own.end();
    if (open_.Attempts(row) > 0 || !owner) ++totals_.rows_reassigned;
    Assign(*helper, row);
  }
}

// Of those that are free: who holds most of the row, then who is fastest, then the first. One
// whose answer was refused in this step only when nobody else can be counted on.
std::optional<WorkerId> CodedScheduler::PickHelper(RowId row) const {
  const bool alone = OnlyRejectedAreLeft();
  std::optional<WorkerId> best;
  for (WorkerId id = 0; id < members_.size(); ++id) {
    const Worker& worker = members_[id];
    if (!worker.live || !worker.free || (RejectedInStep(id) && !alone)) continue;
    if (!best) {
      best = id;
      continue;
    }
    const uint32_t missing = MissingPartitions(id, row, Work());
    const uint32_t best_missing = MissingPartitions(*best, row, Work());
    const bool faster = worker.speed() > members_[*best].speed();
    if (missing < best_missing || (missing == best_missing && faster)) best = id;
  }
  return best;
}

// Whoever is late with the row may be as good as done: it is waited for as long as sending the data
// to another would take. So a wrong guess costs twice what the right one would have, at most.
Time CodedScheduler::WorthSendingFrom(WorkerId helper, RowId row) const {
  const uint32_t missing = MissingPartitions(helper, row, Work());
  if (missing == 0) return Time::min();
  const Duration sending = FromSeconds(deadlines_.TransferSeconds(missing));
  Time from = Time::min();
  for (const Assignment& late : open_.pending()) {
    if (late.row == row) from = std::max(from, late.due + sending);
  }
  // Of owners that are still busy with the step before.
  for (const WorkerId id : Work().members) {
    const Worker& worker = members_[id];
    if (!worker.live || worker.free || open_.Pending(id)) continue;
    const std::span<const RowId> own = Work().RowsOf(id);
    if (std::find(own.begin(), own.end(), row) == own.end()) continue;
    from = std::max(from, worker.waiting_since + worker.patience + sending);
  }
  return from;
}

Duration CodedScheduler::SendingForAnother(WorkerId worker) const {
  size_t partitions = 0;
  for (const RowId row : plan_.RowsOf(worker)) partitions += plan_.code->rows[row].size();
  return FromSeconds(deadlines_.TransferSeconds(partitions));
}

uint32_t CodedScheduler::MissingPartitions(WorkerId worker, RowId row, const Plan& plan) const {
  uint32_t missing = 0;
  for (const CodeEntry& entry : plan.code->rows[row]) {
    missing += members_[worker].holds[entry.partition] ? 0 : 1;
  }
  return missing;
}

void CodedScheduler::On(const RowArrived& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  if (!Open(event.step, event.row)) return;
  if (Keeping()) return RowKept(event);
  if (open_.Arrived(event.row)) return;
  ++members_[event.worker].stats.steps_in_time;
  open_.MarkArrived(event.row);
  const bool waits = WaitsForData(event.worker);
  // Against a wrong guess, the answer says nothing about answers to come; transfers it does show.
  const auto done = open_.Take(event.worker, event.row);
  if (done && answers_) {
    AnswerCame(*done);
  } else if (done && (done->placed > 0 || !(done->guessed || waits))) {
    deadlines_.AddArrival(now_ - done->assigned, done->expected_seconds, done->placed);
  }
  answered_.resize(members_.size());
  // Of a list, the first row alone began when it was assigned.
  const bool alone = members_[event.worker].queued == 1 || Work().SeveralRows();
  const bool first = done && done->samples == done->own_samples;
  const bool says = alone && first && !waits;
  answered_[event.worker] = says ? now_ - done->assigned : Duration::zero();
  // Whoever else was given the row may stop and be of use elsewhere.
  for (const Assignment& other : open_.TakeOthers(event.row)) Drop(other);
  early_.RowArrived(event.row);
  if (GoOnWithout()) return;
  if (open_.AllArrived()) verdict_due_ = now_ + kVerdictPatience;
  if (starved_) ReplaceAbsent();
}

void CodedScheduler::Drop(const Assignment& assignment) {
  if (!Work().SeveralRows()) {
    CountLate(assignment, true);
    if (!Trying(assignment.worker)) Cancel(assignment.worker);
    return;
  }
  // That another was faster with a copy says nothing about its worker.
  if (assignment.overdue || !assignment.copy) CountLate(assignment, true);
  Do(CancelRow{assignment.worker, step_, assignment.row});
}

// What its answer took besides computing.
void CodedScheduler::Ended(const WorkerFree& work) {
  if (work.worker < tried_.size()) tried_[work.worker] = Time{};
  if (work.worker >= answered_.size()) return;
  const Duration took = std::exchange(answered_[work.worker], Duration::zero());
  if (took == Duration::zero() || work.samples == 0) return;
  habits_.resize(std::max<size_t>(habits_.size(), members_.size()));
  habits_[work.worker].SawWait(ToSeconds(took - work.compute));
}

void CodedScheduler::On(const RowLate& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  Spoke(event.worker);
  if (!Open(event.step, event.row)) return;
  const auto late = open_.Take(event.worker, event.row);
  if (late) CountLate(*late, false);
}

void CodedScheduler::On(const StepDecodable& event) {
  if (phase_ != Phase::kRunning || event.step != step_) return;
  CloseStep();
}

void CodedScheduler::CloseStep(bool approximately) {
  Commit(approximately);
  early_.Close(approximately);
  std::vector<Assignment> left = open_.TakeEverything();
  for (const Assignment& assignment : left) CountLate(assignment, true);
  CancelThose(left);
  for (const WorkerId member : plan_.members) {
    Worker& worker = members_[member];
    if (plan_.RowsOf(member).empty() || !worker.live || worker.free) continue;
    if (worker.heard) continue;
    ++worker.silent_steps;
    // Still busy with an earlier step, it was not even given its row.
    if (worker.assigned_in < step_) ++worker.stats.late;
  }
}

void CodedScheduler::CountLate(const Assignment& assignment, bool bound_speed) {
  Worker& worker = members_[assignment.worker];
  ++worker.stats.late;
  const double elapsed = ToSeconds(now_ - assignment.assigned);
  // It has not finished, so it is no faster than this; its next measurement says more. Answers of
  // what is kept say nothing of computing.
  const bool data = assignment.placed > 0 || WaitsForData(assignment.worker);
  if (!bound_speed || answers_ || !assignment.overdue || data || elapsed <= 0) return;
  worker.speed_bound = assignment.samples / elapsed;
}

// The worker is gone or a new process: nothing it was given will be answered.
void CodedScheduler::VoidWork(WorkerId worker) {
  if (worker < placed_.size()) placed_[worker] = {};
  if (worker < tried_.size()) tried_[worker] = Time{};
  for (size_t i = open_.TakeAll(worker).size(); i > 0; --i) ++members_[worker].stats.late;
  if (plan_.code == nullptr) return;
  if (plan_.code->kept_parts > 0) ForgetKept(worker);
  for (const RowId row : Work().RowsOf(worker)) {
    if (row < open_.rows()) open_.OwnerGone(row);
  }
}

void CodedScheduler::On(const RowRejected& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  const bool open = Open(event.step, event.row);
  const bool taken = open && open_.Take(event.worker, event.row).has_value();
  // One bad step of a worker is one refusal, however many rows it was given.
  if (open && Work().SeveralRows() && !taken && !event.touched) return;
  CountRefused(event.worker);
  if (!open) return;
  if (!event.touched) {  // Else all begins again.
    for (const Assignment& rest : open_.TakeAll(event.worker)) {
      Do(CancelRow{event.worker, step_, rest.row});
    }
  }
  Refuse(event);
}

void CodedScheduler::CancelAll() {
  EndTries(/*all=*/true);
  CancelThose(open_.TakeEverything());
}

// Each worker once.
void CodedScheduler::CancelThose(const std::vector<Assignment>& assignments) {
  std::vector<bool> told(members_.size(), false);
  for (const Assignment& assignment : assignments) {
    if (told[assignment.worker] || Trying(assignment.worker)) continue;
    told[assignment.worker] = true;
    Cancel(assignment.worker);
  }
}

// Everything arrived and does not decode, or only with errors beyond the limits: go on without a
// code rather than not at all.
void CodedScheduler::GiveUpOnCode() {
  if (options_.code == "none") {
    return End(
        Status::Internal(fmt::format("step {}: all answers arrived and do not add up to the "
                                     "gradient; please report this",
                                     step_)));
  }
  Say(notice::NotDecodable{step_});
  options_.code = "none";
  plan_void_ = true;
  if (PlanAnew()) Restart();
}

}  // namespace motley
