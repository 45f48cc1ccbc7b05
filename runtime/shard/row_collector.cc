// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/row_collector.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace motley {

RowCollector::RowCollector(uint32_t workers, size_t length, size_t slice_length,
                           ParallelFor& parallel, Raise raise, bool keep_rows)
    : length_(length),
      cut_{length, slice_length},
      keep_rows_(keep_rows),
      parallel_(parallel),
      raise_(std::move(raise)),
      seats_(workers) {}

RowCollector::~RowCollector() = default;

void RowCollector::Open(StepId step, std::shared_ptr<const CodeForm> form, KnownCounts counts) {
  if (form->kept_parts == 0) OpenDecoder(form);
  if (form_ != form) messages_.assign(form->rows.size(), {});
  form_ = std::move(form);
  row_done_.assign(form_->workers, false);
  counts_ = std::move(counts);
  step_ = step;
  ++attempt_;
  open_ = true;
  decodable_ = false;
  if (log_ != nullptr) log_->Open(step_, form_, cut_);
}

void RowCollector::OpenDecoder(const std::shared_ptr<const CodeForm>& form) {
  if (decoder_ == nullptr) {
    decoder_ = std::make_unique<StreamDecoder>(*form, length_, cut_.length, parallel_,
                                               DecodeLimits{.keep_rows = keep_rows_});
    decoder_->SetHome(home_);
  } else {
    decoder_->Reset(*form);
  }
  decoded_ = form;
  cut_.total = decoder_->answer_length();
}

Status RowCollector::Close(std::span<float> sum) {
  MOTLEY_ASSERT(open_ && decodable_);
  open_ = false;
  return decoder_->Finish(sum);
}

Result<ApproximateDecoding> RowCollector::CloseApproximately(std::span<float> sum) {
  MOTLEY_ASSERT(open_ && keep_rows_);
  open_ = false;
  return decoder_->FinishApproximately(sum);
}

// From step to step a row's message differs by no more than the step.
const Bytes& RowCollector::MessageOf(RowId row) {
  Bytes& message = messages_[row];
  if (!message.empty() && SetStep(message, step_)) return message;
  RowRuns runs = RunsOf(*form_, row);
  wire::AssignT assign;
  assign.step = step_;
  assign.version = step_;
  assign.row = row;
  assign.complex_packed = form_->field == Field::kComplexPacked;
  assign.terms = std::move(runs.terms);
  assign.parts = form_->parts;
  assign.keep = Keeping();
  assign.other_parts = std::move(runs.other_parts);
  message = EncodeControl(assign);
  return message;
}

double RowCollector::amplification() const { return decoder_->amplification(); }

void RowCollector::Assign(WorkerId worker, StepId step, RowId row) {
  MOTLEY_ASSERT(open_ && step == step_ && row < form_->rows.size());
  Assignment& assignment = seats_[worker].assignments.push();
  std::vector<bool> seen = std::move(assignment.seen);  // Its memory is used again.
  seen.assign(cut_.count(), false);
  assignment = Assignment{step, row, attempt_, std::move(seen)};
}

void RowCollector::Cancel(WorkerId worker, StepId step) {
  Fifo<Assignment>& all = seats_[worker].assignments;
  for (size_t i = 0; i < all.size(); ++i) all[i].cancelled |= all[i].step <= step;
}

void RowCollector::CancelRow(WorkerId worker, StepId step, RowId row) {
  Fifo<Assignment>& all = seats_[worker].assignments;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].cancelled |= all[i].step == step && all[i].row == row;
  }
}

void RowCollector::Forget(WorkerId worker) { seats_[worker] = Seat(); }

RowCollector::Assignment* RowCollector::Current(WorkerId worker, const Header& header) {
  Seat& seat = seats_[worker];
  if (seat.assignments.empty()) return nullptr;
  Assignment& front = seat.assignments.front();
  return front.step == header.step && front.row == header.row_id ? &front : nullptr;
}

bool RowCollector::Counts(const Assignment& assignment) const {
  return open_ && assignment.step == step_ && assignment.attempt == attempt_;
}

Result<bool> RowCollector::Begin(WorkerId worker, const Header& header, bool fenced,
                                 AlignedVector& values) {
  Assignment* assignment = fenced ? nullptr : Current(worker, header);
  const bool stale = fenced || header.step < step_ || (header.step == step_ && !open_);
  if (assignment == nullptr && !stale) return Misplaced(worker, header);
  if (assignment == nullptr || !Counts(*assignment)) {
    CountLate(worker, header, assignment);
    return false;
  }
  if (assignment->settled) return false;
  if (Keeping()) {
    return Refuse(worker, assignment,
                  Status::DataError(fmt::format("an answer for row {} of step {}, which was to be "
                                                "kept",
                                                header.row_id, header.step)));
  }
  Result<size_t> slice = SliceOf(cut_, header);
  const Result<Claim> claim = ClaimOf(header);
  Status fine = slice.ok() ? claim.status() : slice.status();
  if (fine.ok()) fine = CheckOneTally(*assignment, header.tally);
  if (fine.ok() && header.version != header.step) {
    fine = Status::DataError(fmt::format("an answer for step {} from parameters of version {}",
                                         header.step, header.version));
  }
  if (!fine.ok()) return Refuse(worker, assignment, std::move(fine));
  Seat& seat = seats_[worker];
  seat.slice = *slice;
  seat.receiving = true;
  seat.claim = *claim;
  if (values.empty() && !spare_.empty()) {
    values = std::move(spare_.back());
    spare_.pop_back();
  }
  values.resize(cut_.size(*slice));
  return true;
}

// All slices of an answer declare the tally of the first that came, which is the row's.
Status RowCollector::CheckOneTally(Assignment& assignment, const Tally& tally) const {
  if (assignment.tally) {
    if (*assignment.tally == tally) return Status::Ok();
    return Status::DataError("a slice of an answer declares another loss or weight than the first");
  }
  MOTLEY_RETURN_IF_ERROR(CheckTally(tally, counts_, *form_, assignment.row));
  assignment.tally = tally;
  return Status::Ok();
}

Status RowCollector::Finish(WorkerId worker, AlignedVector& values) {
  Seat& seat = seats_[worker];
  if (!std::exchange(seat.receiving, false) || seat.assignments.empty()) return Status::Ok();
  Assignment& assignment = seat.assignments.front();
  std::vector<Event> events = std::exchange(events_, {});
  if (Counts(assignment)) {
    Status added = Add(worker, values, events);
    if (!values.empty() && spare_.size() < seats_.size()) {
      spare_.push_back(std::exchange(values, {}));
    }
    if (added.code() == StatusCode::kResource) return added;
    assignment.added |= decoder_->spoiled();
    if (!added.ok()) return Refuse(worker, &assignment, std::move(added));
  } else if (!std::exchange(assignment.settled, true)) {
    events.push_back(Late(worker, assignment));  // The step ended meanwhile.
  }
  RaiseAll(events);  // May change everything here.
  events.clear();
  events_ = std::move(events);
  return Status::Ok();
}

Status RowCollector::Add(WorkerId worker, AlignedVector& values, std::vector<Event>& events) {
  const Seat& seat = seats_[worker];
  Assignment& assignment = seats_[worker].assignments.front();
  const RowId row = assignment.row;
  const Tally& tally = *assignment.tally;
  double sketch = 0;  // Before the decoder takes the values.
  if (log_ != nullptr) {
    sketch = log_->Project(values, cut_.begin(seat.slice), seat.claim.projection);
  }
  auto outcome = decoder_->AddSlice(row, seat.slice, values, seat.claim, tally);
  if (!outcome.ok()) return outcome.status();
  const bool added = *outcome == StreamDecoder::Outcome::kAdded;
  if (log_ != nullptr) {
    if (!added && Damaged(seat.claim, values)) sketch = std::numeric_limits<double>::quiet_NaN();
    log_->AddSlice(worker, row, seat.slice, sketch, seat.claim, tally, added);
  }
  assignment.added |= added;
  if (!assignment.seen[seat.slice]) {
    assignment.seen[seat.slice] = true;
    ++assignment.seen_count;
  }
  const bool whole = assignment.seen_count == cut_.count();
  if (!assignment.settled && row_done_[row]) {  // Somebody else was faster.
    assignment.settled = true;
    events.push_back(RowLate{worker, step_, row});
  } else if (!assignment.settled && (added || whole) && decoder_->RowComplete(row)) {
    assignment.settled = true;
    row_done_[row] = true;
    events.push_back(RowArrived{worker, step_, row});
  }
  if (!decodable_ && decoder_->Decodable()) {
    decodable_ = true;
    events.push_back(StepDecodable{step_});
  }
  return Status::Ok();
}

// The decoder does not look at slices that it does not need. What was damaged on the way is not
// held against its worker.
bool RowCollector::Damaged(const Claim& claim, std::span<const float> values) const {
  return log_->secret() && !claim.HoldsFor(SketchOf(values, claim.key));
}

void RowCollector::RaiseAll(std::vector<Event>& events) {
  for (Event& event : events) raise_(std::move(event));
}

bool RowCollector::End(WorkerId worker, const wire::PullT& pull) {
  Seat& seat = seats_[worker];
  if (seat.assignments.empty()) return false;
  Assignment& ending = seat.assignments.front();
  if (ending.step != pull.step || ending.row != pull.row) return false;
  Assignment front;
  std::swap(front, ending);
  std::swap(front.seen, ending.seen);  // Its memory stays for another.
  seat.assignments.drop_front();
  if (front.settled) return true;
  const bool live = Counts(front) && !row_done_[front.row];
  if (live && Keeping() && pull.finished) {
    raise_(RowArrived{worker, front.step, front.row});
  } else if (live && !front.cancelled) {
    // What did come is right and stays in the sums: somebody else's answer completes it.
    raise_(RowRejected{
        worker, front.step, front.row, false,
        Status::DataError(fmt::format("{} of {} slices came{}", front.seen_count, cut_.count(),
                                      pull.finished ? "" : ", and then the worker gave it up"))});
  } else if (pull.finished) {
    raise_(Late(worker, front));
  }
  return true;
}

// About a row of the open step, it would be taken for what that row is by now.
Event RowCollector::Late(WorkerId worker, const Assignment& assignment) const {
  if (open_ && assignment.step == step_ && assignment.attempt != attempt_) {
    return WorkerProgress{worker, 0, Duration::zero()};
  }
  return RowLate{worker, assignment.step, assignment.row};
}

// Counted once per row, however many of its slices come.
void RowCollector::CountLate(WorkerId worker, const Header& header, Assignment* assignment) {
  if (assignment != nullptr) {
    // An earlier attempt's row may be another one.
    const bool comparable = header.step < step_ || assignment->attempt == attempt_;
    if (log_ != nullptr && comparable) log_->AddLate(worker, header);
    if (!std::exchange(assignment->settled, true)) raise_(Late(worker, *assignment));
    return;
  }
  Seat& seat = seats_[worker];
  if (seat.stale_counted && seat.stale_step == header.step && seat.stale_row == header.row_id) {
    return;
  }
  seat.stale_counted = true;
  seat.stale_step = header.step;
  seat.stale_row = header.row_id;
  // Said of the open step, it would be taken for this life's own answer.
  if (!open_ || header.step != step_) raise_(RowLate{worker, header.step, header.row_id});
}

// A slice of the open step, or of one to come, that is not the worker's next answer.
Status RowCollector::Misplaced(WorkerId worker, const Header& header) {
  Status why = Status::DataError(fmt::format(
      "an answer for row {} of step {}, which was not assigned", header.row_id, header.step));
  Seat& seat = seats_[worker];
  if (seat.assignments.empty() || !Counts(seat.assignments.front())) return why;
  return Refuse(worker, &seat.assignments.front(), std::move(why));
}

Status RowCollector::Refuse(WorkerId worker, Assignment* assignment, Status why) {
  if (std::exchange(assignment->settled, true)) return why;
  raise_(RowRejected{worker, assignment->step, assignment->row, assignment->added, why});
  return why;
}

}  // namespace motley
