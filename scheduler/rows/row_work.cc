// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rows/row_work.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr uint32_t kMaxBackoff = 6;  // Deadlines grow up to 2^6 times while a row is passed on.
constexpr Duration kLongestTry = std::chrono::seconds(1);

}  // namespace

RowWork::RowWork(JobState& job, const UpdateState& update, const RowPlans& plans)
    : job_(job), update_(update), plans_(plans) {}

void RowWork::Open() {
  const Plan& plan = plans_.plan();
  kept_.Open(plan);
  book_.Open(*plan.code);
  job_.transfers.SetAnswerPart(1.0 / std::max(1U, plan.code->parts));
  // What follows an answer that no longer counts is of no use.
  for (Seat& seat : seats_) {
    if (seat.ahead.step != update_.id) seat.ahead = {};
  }
  job_.Do(OpenStep{update_.id, plan.code, update_.base_version});
}

Status RowWork::OpenAnswers(const std::vector<bool>& awake) {
  MOTLEY_RETURN_IF_ERROR(kept_.Ask(awake));
  const auto& code = plan().code;
  book_.Open(*code);
  job_.transfers.SetAnswerPart(1.0 / std::max(1U, code->parts));
  job_.Do(OpenStep{update_.id, code, update_.base_version});
  return Status::Ok();
}

const Plan& RowWork::plan() const {
  const Plan* answers = kept_.answers();
  return answers != nullptr ? *answers : plans_.plan();
}

bool RowWork::InStep(StepId step, RowId row) const {
  return update_.open() && step == update_.id && row < book_.rows();
}

RowWork::Seat& RowWork::SeatOf(WorkerId worker) {
  seats_.resize(std::max<size_t>(seats_.size(), job_.members.size()));
  return seats_[worker];
}

// --- Giving rows out ---

std::vector<RowId> RowWork::OwnToDo(WorkerId worker) const {
  std::vector<RowId> rows;
  if (update_.refusals.Has(worker)) return rows;
  for (const RowId row : plan().RowsOf(worker)) {
    if (job_.options.sync.answers_differ() && book_.Attempts(row) > 0)
      continue;  // Another one has it.
    if (!book_.Arrived(row) && !book_.Pending(worker, row) && !kept_.Has(worker, row)) {
      rows.push_back(row);
    }
  }
  return rows;
}

void RowWork::AssignOwn(WorkerId worker) {
  for (const RowId row : OwnToDo(worker)) Assign(worker, row, true);
}

void RowWork::Assign(WorkerId id, RowId row, bool as_planned) {
  Worker& worker = job_.members[id];
  Assignment assignment;
  assignment.worker = id;
  assignment.row = row;
  assignment.assigned = job_.now;
  assignment.copy = as_planned && plan().SeveralRows();
  if (as_planned && waits_) assignment.sending = Sending::kUnasked;
  Place(id, row, assignment);
  Predict(assignment);
  const uint32_t attempts = book_.Attempts(row) + update_.begun_again;
  worker.patience = Limit(assignment) * (1 << std::min(attempts, kMaxBackoff));
  worker.waiting_since = job_.now;
  worker.free = false;
  ++worker.queued;
  worker.assigned_in = update_.id;
  assignment.due = job_.now + worker.patience;
  book_.OwnerGone(row);  // The row has a worker now, so its owner is not awaited.
  book_.Add(assignment);
  const bool waits = assignment.sending == Sending::kUnasked;
  const Ahead ahead = std::exchange(SeatOf(id).ahead, {});  // No order but the next is about it.
  job_.Do(AssignRow{id, update_.id, row, waits, ahead.Is(update_.id, plan().code->rows[row])});
}

bool RowWork::Ahead::Is(StepId other, const std::vector<CodeEntry>& entries) const {
  const auto same = [](const CodeEntry& a, const CodeEntry& b) {
    return a.partition == b.partition && a.coefficient == b.coefficient;
  };
  if (code == nullptr || step != other) return false;
  const std::vector<CodeEntry>& begun = code->rows[row];
  return std::equal(begun.begin(), begun.end(), entries.begin(), entries.end(), same);
}

// Sends the partitions of the row that the worker lacks.
void RowWork::Place(WorkerId id, RowId row, Assignment& assignment) {
  if (kept_.answers() == nullptr) {  // Rows of answers have the same numbers as other rows.
    Seat& seat = SeatOf(id);
    if (seat.placed_plan == plans_.number() && seat.placed_row == row) return;
    seat.placed_plan = plans_.number();
    seat.placed_row = row;
  }
  std::vector<PartitionId> missing;
  for (const CodeEntry& entry : plan().code->rows[row]) {
    const PartitionId p = entry.partition;
    const bool lacks = job_.Lacks(id, p);
    if (lacks) missing.push_back(p);
    if (lacks || job_.transfers.ComingTo(id).contains(p)) ++assignment.placed;
  }
  if (!missing.empty()) job_.SendData(id, update_.id, std::move(missing), Transfers::Why::kNeeded);
}

// The time until the row is done, after the rows before it. It uses the measured speed and not its
// bound: waiting longer for a worker that answers nothing gains nothing.
void RowWork::Predict(Assignment& assignment) const {
  const bool answer = kept_.answers() != nullptr;
  const size_t partitions = answer ? kept_.NotKept(assignment.worker, assignment.row)
                                   : plan().code->rows[assignment.row].size();
  assignment.own_samples = update_.part
                               ? static_cast<double>(update_.part->samples)
                               : static_cast<double>(partitions) * job_.samples_per_partition();
  assignment.samples = assignment.own_samples;
  if (const Assignment* before = book_.LastOf(assignment.worker); before != nullptr) {
    assignment.placed += before->placed;
    assignment.samples += before->samples;
  }
  const SpeedEstimator& estimator = job_.members[assignment.worker].estimator;
  const double speed = estimator.samples_per_second();
  assignment.expected_seconds = speed > 0 ? assignment.samples / speed : 0;
  if (answer) assignment.expected_seconds += kept_.UsualSeconds();
  assignment.guessed = !estimator.settled();
}

// If the worker has not answered rows before, its answers under another scheme show what the links
// take.
Duration RowWork::Limit(const Assignment& assignment) const {
  if (kept_.answers() != nullptr) {
    return kept_.Limit(assignment.expected_seconds, assignment.placed);
  }
  const WorkerId worker = assignment.worker;
  const bool seen = plans_.follows_another() && worker < job_.habits.size();
  const double wait = seen ? job_.habits[worker].Wait() : 0;
  return job_.deadlines.Limit(assignment.expected_seconds, assignment.placed, wait);
}

// --- Answers ---

// An answer later than a wrong guess shows nothing about later answers, but it does show what
// transfers take.
void RowWork::Arrived(WorkerId worker, RowId row) {
  ++job_.members[worker].stats.steps_in_time;
  book_.MarkArrived(row);
  const auto done = book_.Take(worker, row);
  const bool waits = job_.transfers.InTheWayOf(worker, done ? done->assigned : job_.now);
  const Duration took = done ? job_.now - done->assigned : Duration::zero();
  if (done && kept_.answers() != nullptr) {
    kept_.SawAnswer(took, done->expected_seconds, done->placed, done->samples > 0);
  } else if (done && (done->placed > 0 || !(done->guessed || waits))) {
    job_.deadlines.AddArrival(took, done->expected_seconds, done->placed);
  }
  // Only the first row of a list began when it was assigned.
  const bool alone = job_.members[worker].queued == 1 || plan().SeveralRows();
  const bool first = done && done->samples == done->own_samples;
  SeatOf(worker).answered = alone && first && !waits ? took : Duration::zero();
  if (job_.options.sync.local_ahead > 0) SeatOf(worker).ahead = {update_.id + 1, plan().code, row};
  // Other workers with the row may stop and be of use elsewhere.
  for (const Assignment& other : book_.TakeOthers(row)) Drop(other);
}

void RowWork::Kept(WorkerId worker, RowId row) {
  const auto done = book_.Take(worker, row);
  if (done && (!done->guessed || done->placed > 0)) {
    job_.deadlines.AddArrival(job_.now - done->assigned, done->expected_seconds, done->placed);
  }
  if (!kept_.Done(worker, row) || book_.Arrived(row)) return;
  book_.MarkArrived(row);
  for (const Assignment& other : book_.TakeOthers(row)) Drop(other);
}

void RowWork::CameLate(WorkerId worker, RowId row) {
  if (const auto late = book_.Take(worker, row)) CountLate(*late, false);
}

bool RowWork::TakeRefused(WorkerId worker, RowId row) {
  return book_.Take(worker, row).has_value();
}

void RowWork::TakeBack(WorkerId worker, bool is_told) {
  if (!is_told) {
    SeatOf(worker).placed_plan = 0;
    SeatOf(worker).tried = Time{};
    SeatOf(worker).ahead = {};
  }
  for (const Assignment& rest : book_.TakeAll(worker)) {
    if (is_told) {
      job_.Do(CancelRow{worker, update_.id, rest.row});
    } else {
      ++job_.members[worker].stats.late;
    }
  }
}

void RowWork::Ended(const WorkerFree& work) {
  Seat& seat = SeatOf(work.worker);
  seat.tried = Time{};
  const Duration took = std::exchange(seat.answered, Duration::zero());
  if (took == Duration::zero() || work.samples == 0) return;
  // Steps that the worker took ahead of its order may have hidden all of it.
  job_.HabitsOf(work.worker).SawWait(std::max(0.0, ToSeconds(took - work.compute)));
}

// --- Taking rows back ---

void RowWork::Drop(const Assignment& assignment) {
  if (!plan().SeveralRows()) {
    CountLate(assignment, true);
    if (!IsTried(assignment.worker)) job_.Do(CancelWork{assignment.worker, update_.id});
    return;
  }
  // A faster answer from another worker to a copy shows nothing about this worker.
  if (assignment.overdue || !assignment.copy) CountLate(assignment, true);
  job_.Do(CancelRow{assignment.worker, update_.id, assignment.row});
}

// A worker that has not finished is no faster than this; its next measurement shows more. Answers
// from kept rows show nothing about computing.
void RowWork::CountLate(const Assignment& assignment, bool bound_speed) {
  Worker& worker = job_.members[assignment.worker];
  ++worker.stats.late;
  const double elapsed = ToSeconds(job_.now - assignment.assigned);
  const bool data =
      assignment.placed > 0 || job_.transfers.InTheWayOf(assignment.worker, assignment.assigned);
  const bool answer = kept_.answers() != nullptr;
  if (!bound_speed || answer || !assignment.overdue || data || elapsed <= 0) return;
  worker.speed_bound = assignment.samples / elapsed;
}

void RowWork::TakeAllBack(bool late) {
  const std::vector<Assignment> left = book_.TakeEverything();
  for (const Assignment& assignment : left) {
    if (late && assignment.sending != Sending::kHeld) CountLate(assignment, true);
  }
  CancelOnce(left);
}

// Cancels each worker's work once.
void RowWork::CancelOnce(const std::vector<Assignment>& assignments) {
  std::vector<bool> told(job_.members.size(), false);
  for (const Assignment& assignment : assignments) {
    if (told[assignment.worker] || IsTried(assignment.worker)) continue;
    told[assignment.worker] = true;
    // Only a worker's one row is ever held.
    const bool held = assignment.sending == Sending::kHeld;
    job_.Do(CancelWork{assignment.worker, update_.id, held});
  }
}

std::vector<WorkerId> RowWork::DropAll() {
  std::vector<WorkerId> overdue;
  for (const Assignment& left : book_.TakeEverything()) {
    if (left.overdue) CountLate(left, true);
    if (left.overdue) overdue.push_back(left.worker);
    job_.Do(CancelRow{left.worker, update_.id, left.row});
  }
  return overdue;
}

// --- Trial rows ---

void RowWork::Try(WorkerId worker, RowId row) {
  if (!job_.members[worker].estimator.settled()) SeatOf(worker).tried = job_.now;
  Assign(worker, row);
}

bool RowWork::IsTried(WorkerId worker) const {
  return worker < seats_.size() && seats_[worker].tried != Time{} &&
         job_.now - seats_[worker].tried <= kLongestTry;
}

void RowWork::EndTries(bool all) {
  for (WorkerId id = 0; id < seats_.size(); ++id) {
    if (seats_[id].tried == Time{} || (!all && IsTried(id))) continue;
    seats_[id].tried = Time{};
    job_.Do(CancelWork{id, update_.id});
  }
}

}  // namespace motley
