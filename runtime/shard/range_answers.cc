// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/range_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "coding/decode/part_sums.h"
#include "runtime/shard/batch_weight.h"

namespace motley {
namespace {

DecodeLimits LimitsOf(const Route& route, bool keep_rows) {
  DecodeLimits limits{.keep_rows = keep_rows};
  limits.waiting_bytes /= route.shards();  // The limit is that of the whole vector.
  return limits;
}

// The attempt at an update that a slice is for. Later ones are greater.
std::pair<StepId, uint32_t> AttemptOf(const Header& header) {
  return {header.step, header.attempt};
}

}  // namespace

RangeAnswers::RangeAnswers(Shape shape, SpareSlices& spare, ParallelFor& parallel,
                           std::span<float> home, Hooks hooks)
    : shape_(std::move(shape)),
      whole_(shape_.route.Answers(shape_.slice_length, shape_.wire)),
      lent_(!home.empty()),
      hooks_(std::move(hooks)),
      spare_(spare),
      sum_(shape_.route.size(shape_.shard), shape_.slice_length, parallel,
           LimitsOf(shape_.route, shape_.keep_rows), spare_) {
  if (lent_) sum_.SetHome(home);
}

// --- Updates ---

void RangeAnswers::Open(const Update& update, uint32_t attempt,
                        std::shared_ptr<const CodeForm> form) {
  parts_.clear();
  if (!lent_ && (home_ == nullptr || home_.use_count() > 1)) {
    home_ = std::make_shared<AlignedVector>(shape_.route.size(shape_.shard));
    sum_.SetHome(*home_);
  }
  update_ = update;
  attempt_ = attempt;
  form_ = std::move(form);
  open_ = true;
  decodable_ = false;
  if (form_ != nullptr) {
    spare_.Limit(form_->workers);
    sum_.OpenRows(form_);
    row_done_.assign(form_->workers, false);
  } else {
    spare_.Limit(SIZE_MAX);
    sum_.OpenLists();
    row_done_.clear();
  }
  cut_ = CutOf(whole_, form_.get());
  // A hook may open the update again. The rest is then compared with that.
  std::list<Early> early = std::exchange(early_, {});
  while (!early.empty()) {
    Early next = std::move(early.front());
    early.pop_front();
    const Header& header = next.slice.header;
    const auto of_slice = AttemptOf(header);
    if (of_slice > std::pair(update_.id, attempt_)) {
      early_.push_back(std::move(next));
    } else if (of_slice == std::pair(update_.id, attempt_) && open_) {
      // A slice that does not fit was the fault of its worker, and is reported like that.
      if (Status fine = Take(next.worker, next.slice); !fine.ok()) {
        const Answer answer{next.worker, header.row_id, header.row, header.tally};
        hooks_.refused(answer, false, fine);
      }
    }
  }
}

Slicing RangeAnswers::CutOf(const Slicing& whole, const CodeForm* form) {
  if (form == nullptr || form->parts <= 1) return whole;
  return Slicing(AnswerEnds(form->field, whole.total(), whole.ends(), form->parts), whole.length(),
                 whole.format());
}

Status RangeAnswers::EndSum() {
  MOTLEY_ASSERT(open_ && (form_ == nullptr || decodable_));
  open_ = false;
  parts_.clear();  // Vectors that are not in the sum will never be.
  return sum_.Finish();
}

Result<ApproximateDecoding> RangeAnswers::EndSum(const std::vector<bool>& rows) {
  MOTLEY_ASSERT(open_ && form_ != nullptr);
  open_ = false;
  parts_.clear();
  return sum_.FinishApproximately(rows);
}

// --- Slices ---

// What the worker has sent for this attempt or a later one. Finish drops what it sent for others.
size_t RangeAnswers::WaitingFrom(WorkerId worker, const Header& newest) const {
  size_t floats = 0;
  for (const auto& [sender, slice] : early_) {
    const bool counts = sender == worker && AttemptOf(slice.header) >= AttemptOf(newest);
    if (counts) floats += slice.values.size();
  }
  return floats;
}

AnswerLog* RangeAnswers::LogNow() const {
  return log_ != nullptr && log_->Keeps(update_.id) ? log_ : nullptr;
}

// Slices of a row may come twice. Those of a vector may not, even if all of it is here.
bool RangeAnswers::NotWanted(const Part& part) const {
  return part.refused || (part.arrived && form_ != nullptr);
}

size_t RangeAnswers::slices() const {
  return cut_.first_slice(shape_.shard + 1) - cut_.first_slice(shape_.shard);
}

Result<size_t> RangeAnswers::LocalSlice(const Header& header) const {
  MOTLEY_ASSIGN_OR_RETURN(const size_t slice, SliceOf(cut_, header));
  if (header.shard != shape_.shard) {
    return Status::DataError(
        fmt::format("a slice of shard {}, which is on another node", header.shard));
  }
  if (header.version != update_.base_version) {
    return Status::DataError(fmt::format(
        "an answer for step {} from parameters of version {}, where version {} was ordered",
        header.step, header.version, update_.base_version));
  }
  if (form_ != nullptr && header.row >= form_->workers) {
    return Status::DataError(fmt::format("an answer for row {} of {}", header.row, form_->workers));
  }
  return slice - cut_.first_slice(shape_.shard);
}

Result<bool> RangeAnswers::Begin(WorkerId worker, const Header& header, Slice& slice) {
  slice.coming = false;
  const auto of_slice = AttemptOf(header);
  const auto now = std::pair(update_.id, attempt_);
  if (of_slice < now || (of_slice == now && !open_)) return false;
  const size_t floats = WireFloats(whole_.format(), header.length);
  if (of_slice == now) {
    const Result<size_t> index = LocalSlice(header);
    if (!index.ok()) return index.status();
    const auto found = parts_.find({worker, header.row_id, header.row});
    if (found != parts_.end() && NotWanted(found->second)) return false;
  } else if (floats > whole_.length() || header.format != whole_.format() ||
             WireBytes(header.format, floats) != header.length) {
    return Status::DataError(fmt::format("a slice of {} bytes as {}, where {} as {} are the most",
                                         header.length, NameOf(header.format),
                                         WireBytes(whole_.format(), whole_.length()),
                                         NameOf(whole_.format())));
  } else if (WaitingFrom(worker, header) + floats > shape_.most_waiting) {
    return Status::DataError(
        fmt::format("more slices of worker {} for steps after {}, which is open, "
                    "than a step has",
                    worker, update_.id));
  }
  MOTLEY_RETURN_IF_ERROR(spare_.MakeRoom(slice.values, floats));
  MOTLEY_RETURN_IF_ERROR(slice.packed.Begin(header));
  slice.header = header;
  slice.coming = true;
  return true;
}

Status RangeAnswers::Finish(WorkerId worker, Slice& slice) {
  if (!std::exchange(slice.coming, false)) return Status::Ok();
  const auto of_slice = AttemptOf(slice.header);
  const auto now = std::pair(update_.id, attempt_);
  if (of_slice < now || (of_slice == now && !open_)) return Status::Ok();  // The update ended.
  (void)slice.packed.Finish(slice.values);  // Bytes that make no sense become NaN.
  if (of_slice > now) {
    std::erase_if(early_, [&](const Early& each) {
      return each.worker == worker && AttemptOf(each.slice.header) < of_slice;
    });
    early_.push_back({worker, std::exchange(slice, Slice())});
    return Status::Ok();
  }
  return Take(worker, slice);
}

Status RangeAnswers::Take(WorkerId worker, Slice& slice) {
  const Header& header = slice.header;
  const Answer answer{worker, header.row_id, header.row, header.tally};
  MOTLEY_ASSIGN_OR_RETURN(const size_t index, LocalSlice(header));
  Part& part = parts_[{worker, header.row_id, header.row}];
  if (NotWanted(part)) return Status::Ok();
  if (part.came.seen.empty()) part.came.Start(slices());
  Status fine = CheckTally(header.tally);
  const auto claim = ClaimOf(header);
  if (fine.ok() && !claim.ok()) fine = claim.status();
  if (fine.ok()) fine = part.came.Check(index, header.tally, form_ == nullptr);
  if (!fine.ok()) {
    Refuse(answer, part, part.added, fine);
    return Status::Ok();
  }
  part.came.tally = header.tally;
  if (form_ != nullptr) return TakeRow(answer, part, index, slice, *claim);
  TakeOfList(answer, part, index, slice, *claim);
  return Status::Ok();
}

Status RangeAnswers::TakeRow(const Answer& answer, Part& part, size_t index, Slice& slice,
                             const Claim& claim) {
  StreamDecoder& decoder = sum_.decoder();
  AnswerLog* const log = LogNow();
  const size_t number = index + cut_.first_slice(shape_.shard);
  double sketch = 0;  // Computed before the decoder takes the values.
  if (log != nullptr) sketch = log->Project(slice.values, cut_.begin(number), claim.projection);
  const auto outcome = decoder.AddSlice(answer.row, index, slice.values, claim, *part.came.tally);
  const bool added = outcome.ok() && *outcome == StreamDecoder::Outcome::kAdded;
  if (log != nullptr && outcome.ok()) {
    // The decoder does not read slices that it does not need. Damage on the way is not the worker's
    // fault.
    const bool damaged =
        !added && log->secret() && !claim.HoldsFor(SketchOf(slice.values, claim.key));
    if (damaged) sketch = std::numeric_limits<double>::quiet_NaN();
    log->AddSlice(answer.worker, answer.row, number, sketch, claim, answer.tally, added);
  }
  spare_.GiveBack(std::exchange(slice.values, {}));
  if (!outcome.ok() && outcome.status().code() == StatusCode::kResource) return outcome.status();
  if (!outcome.ok()) {
    Refuse(answer, part, part.added || decoder.spoiled(), outcome.status());
    return Status::Ok();
  }
  part.came.Add(index);
  part.added |= added;
  if (hooks_.came) hooks_.came(answer, added);
  bool arrived = false;
  const bool whole = part.came.count == slices();
  if (!row_done_[answer.row] && (added || whole) && decoder.RowComplete(answer.row)) {
    row_done_[answer.row] = part.arrived = arrived = true;
  }
  const bool now_decodable = !decodable_ && decoder.Decodable();
  decodable_ |= now_decodable;
  // Hooks may open the update again.
  if (arrived) hooks_.arrived(answer);
  if (now_decodable) hooks_.decodable();
  return Status::Ok();
}

void RangeAnswers::TakeOfList(const Answer& answer, Part& part, size_t index, Slice& slice,
                              const Claim& claim) {
  if (!claim.HoldsFor(SketchOf(slice.values, claim.key))) {
    return Refuse(answer, part, false,
                  Status::DataError("a slice of a vector has another norm or sketch than it "
                                    "declares"));
  }
  if (part.slices.empty()) part.slices.resize(slices());
  if (AnswerLog* log = LogNow()) {
    const size_t begin = cut_.begin(index + cut_.first_slice(shape_.shard));
    part.sketches.resize(slices());
    part.sketches[index] = log->Project(slice.values, begin, claim.projection);
  }
  part.slices[index] = std::exchange(slice.values, {});
  part.came.Add(index);
  if (hooks_.came) hooks_.came(answer, false);
  if (part.came.count < slices()) return;
  part.arrived = true;
  hooks_.arrived(answer);
}

void RangeAnswers::Refuse(const Answer& answer, Part& part, bool touched, const Status& why) {
  if (std::exchange(part.refused, true)) return;
  part.slices.clear();
  hooks_.refused(answer, touched, why);
}

Result<RangeAnswers::Added> RangeAnswers::Add(const Answer& which) {
  const auto found = parts_.find({which.worker, which.order, which.row});
  const bool here = open_ && form_ == nullptr && found != parts_.end() &&
                    found->second.slices.size() == slices() && found->second.arrived &&
                    !found->second.refused;
  if (!here) {
    return Status::DataError(fmt::format("vector {} of order {} of worker {} is not here",
                                         which.row, which.order, which.worker));
  }
  Part& part = found->second;
  sum_.AddVector(std::exchange(part.slices, {}), *part.came.tally);
  return Added{std::move(part.sketches), *part.came.tally};
}

}  // namespace motley
