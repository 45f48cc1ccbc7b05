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
  std::map<WorkerId, Early> early = std::exchange(early_, {});
  for (auto& [worker, of_worker] : early) TakeEarly(worker, of_worker);
}

// A hook may open the update again. The rest is then compared with that.
void RangeAnswers::TakeEarly(WorkerId worker, Early& early) {
  while (!early.slices.empty() && early.attempt == Now() && open_) {
    Slice next = std::move(early.slices.front());
    early.slices.pop_front();
    const Status fine = Take(worker, next);
    if (fine.ok()) continue;
    // A slice that does not fit was the fault of its worker, and is reported like that.
    const Header& header = next.header;
    hooks_.refused({worker, header.row_id, header.row, header.tally}, false, fine);
  }
  if (early.attempt > Now()) early_[worker] = std::move(early);
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

// An error if a slice of a later attempt may not wait.
Status RangeAnswers::Overtakes(WorkerId worker, const Header& header) const {
  const WireFormat format = whole_.format();
  const size_t floats = WireFloats(format, header.length);
  if (floats > whole_.length() || header.format != format ||
      WireBytes(header.format, floats) != header.length) {
    return Status::DataError(fmt::format("a slice of {} bytes as {}, where {} as {} are the most",
                                         header.length, NameOf(header.format),
                                         WireBytes(format, whole_.length()), NameOf(format)));
  }
  const auto found = early_.find(worker);
  const bool same = found != early_.end() && found->second.attempt == AttemptOf(header);
  if ((same ? found->second.floats : 0) + floats > shape_.most_waiting) {
    return Status::DataError(
        fmt::format("worker {} sent more for step {} than a step can have, while step {} is open",
                    worker, header.step, update_.id));
  }
  return Status::Ok();
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
  const Attempt of_slice = AttemptOf(header);
  if (of_slice < Now() || (of_slice == Now() && !open_)) return false;
  if (of_slice == Now()) {
    const Result<size_t> index = LocalSlice(header);
    if (!index.ok()) return index.status();
    const auto found = parts_.find({worker, header.row_id, header.row});
    if (found != parts_.end() && NotWanted(found->second)) return false;
  } else {
    MOTLEY_RETURN_IF_ERROR(Overtakes(worker, header));
  }
  MOTLEY_RETURN_IF_ERROR(spare_.MakeRoom(slice.values, WireFloats(whole_.format(), header.length)));
  MOTLEY_RETURN_IF_ERROR(slice.packed.Begin(header));
  slice.header = header;
  slice.coming = true;
  return true;
}

Status RangeAnswers::Finish(WorkerId worker, Slice& slice) {
  if (!std::exchange(slice.coming, false)) return Status::Ok();
  const Attempt of_slice = AttemptOf(slice.header);
  if (of_slice < Now() || (of_slice == Now() && !open_)) return Status::Ok();  // The update ended.
  (void)slice.packed.Finish(slice.values);  // Bytes that make no sense become NaN.
  if (of_slice == Now()) return Take(worker, slice);
  Early& early = early_[worker];
  if (early.attempt < of_slice) early = {.attempt = of_slice};
  if (early.attempt == of_slice) {
    early.floats += slice.values.size();
    early.slices.push_back(std::exchange(slice, Slice()));
  }
  return Status::Ok();
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
