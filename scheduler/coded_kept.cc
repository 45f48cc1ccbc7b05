// SPDX-License-Identifier: Apache-2.0
// Steps of CodedScheduler whose rows are kept until it is known what is wanted of them.
#include <algorithm>
#include <utility>

#include "scheduler/coded_scheduler.h"

namespace motley {

// Its place in the plan; none for who was only measured.
std::optional<WorkerId> CodedScheduler::OwnerOf(WorkerId worker) const {
  const auto at = std::lower_bound(plan_.members.begin(), plan_.members.end(), worker);
  if (at == plan_.members.end() || *at != worker) return std::nullopt;
  return static_cast<WorkerId>(at - plan_.members.begin());
}

bool CodedScheduler::Kept(WorkerId worker, RowId row) const {
  if (!Keeping()) return false;
  const auto owner = OwnerOf(worker);
  return owner && kept_.Has(*owner, row);
}

size_t CodedScheduler::PartitionsNotKept(WorkerId worker, RowId answer) const {
  const auto& entries = answers_->code->rows[answer];
  const auto owner = OwnerOf(worker);
  if (!owner) return entries.size();
  std::vector<bool> there(options_.partitions, false);
  for (const RowId row : plan_.RowsOf(worker)) {
    if (!kept_.Has(*owner, row)) continue;
    for (const CodeEntry& entry : plan_.code->rows[row]) there[entry.partition] = true;
  }
  return static_cast<size_t>(
      std::count_if(entries.begin(), entries.end(),
                    [&](const CodeEntry& entry) { return !there[entry.partition]; }));
}

void CodedScheduler::RowKept(const RowArrived& event) {
  const auto done = open_.Take(event.worker, event.row);
  if (done && (!done->guessed || done->placed > 0)) {
    deadlines_.AddArrival(now_ - done->assigned, done->expected_seconds, done->placed);
  }
  const auto owner = OwnerOf(event.worker);
  if (owner && kept_.Done(*owner, event.row) && !open_.Arrived(event.row)) {
    open_.MarkArrived(event.row);
    for (const Assignment& other : open_.TakeOthers(event.row)) Drop(other);
  }
  AskWhenEnough();
}

void CodedScheduler::ForgetKept(WorkerId worker) {
  const auto owner = OwnerOf(worker);
  if (!owner) return;
  for (const RowId row : kept_.Lose(*owner)) {
    if (Keeping()) open_.Unarrive(row);
  }
}

// Of rows that are wanted again, to those who are free.
void CodedScheduler::HandOutKept() {
  for (const WorkerId id : plan_.members) {
    if (members_.Live(id) && members_[id].free) AssignOwn(id);
  }
}

void CodedScheduler::AskWhenEnough() {
  if (phase_ != Phase::kRunning || !Keeping()) return;
  if (open_.AllArrived() || open_.NothingInHand()) AskForAnswers();
}

void CodedScheduler::AskForAnswers() {
  std::vector<bool> awake;
  for (const WorkerId id : plan_.members) {
    const Worker& worker = members_[id];
    awake.push_back(worker.live && worker.ready && !worker.Overdue(now_) && !RejectedInStep(id));
  }
  for (const Assignment& left : open_.TakeEverything()) {
    if (left.overdue) CountLate(left, true);
    if (const auto owner = OwnerOf(left.worker); owner && left.overdue) awake[*owner] = false;
    Do(CancelRow{left.worker, step_, left.row});
  }
  Result<CodeForm> code = kept_.Answers(awake);
  if (!code.ok()) return End(code.status());
  answers_ = plan_;
  answers_->code = std::make_shared<const CodeForm>(std::move(code).value());
  answers_->rows = RowLists(*answers_->code);
  open_.Open(step_, *answers_->code);
  Do(OpenStep{step_, answers_->code});
  // Who is busy with a row that is not needed stops and does this next.
  for (size_t i = 0; i < awake.size(); ++i) {
    if (awake[i]) AssignOwn(plan_.members[i]);
  }
  ReplaceAbsent();
}

void CodedScheduler::AnswerCame(const Assignment& done) {
  const Duration took = now_ - done.assigned;
  if (done.samples == 0) answer_seconds_.Add(ToSeconds(took));
  answer_deadlines_.AddArrival(took, done.expected_seconds, done.placed);
}

}  // namespace motley
