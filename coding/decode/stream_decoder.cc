// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/stream_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coding/decode/part_sums.h"
#include "coding/decode/slice_sums.h"

namespace motley {
namespace {

// The declared norm was rounded to float and summed in another order.
constexpr double kNormSlack = 1 + 1e-5;

// The most that a slice's squares may sum to. NaN, which rejects every slice, for an invalid norm.
double SquaresLimit(double norm_limit) {
  if (!(norm_limit >= 0)) return std::nan("");
  const double norm = norm_limit * kNormSlack;
  return std::min(norm * norm, std::numeric_limits<double>::max());
}

}  // namespace

struct StreamDecoder::Impl {
  struct Slice {
    std::vector<bool> present;  // Rows that arrived or are empty.
    std::vector<bool> settled;  // Rows that arrived or are not needed.
    bool finished = false;
  };

  void Reset(const CodeForm& new_form) {
    if (form == &new_form) {
      sums->Restart();
    } else {
      Take(new_form);
    }
    spoiled = false;
    ended = false;
    slices.assign(layout.count(), fresh);
    unfinished = slices.size();
    touched.assign(form->workers, false);
    tallies.assign(form->workers, Tally());
    tally = Tally();
    settled_slices.assign(form->workers, 0);
    for (RowId row = 0; row < form->workers; ++row) {
      if (fresh.present[row]) settled_slices[row] = slices.size();
    }
  }

  void Take(const CodeForm& new_form) {
    form = &new_form;
    layout.length = PartLength(form->field, total, form->parts);
    MOTLEY_ASSERT(form->field == Field::kReal || (total % 2 == 0 && layout.slice_length % 2 == 0));
    const SumsContext context{*form, layout, limits, parallel, pool, home};
    if (limits.keep_rows) {
      MOTLEY_ASSERT(form->parts == 1);
      sums = MakeKeptSums(context);
    } else {
      sums = form->tiling() ? MakeTilingSums(context) : MakeClosedSums(context);
    }
    fresh = Slice();
    for (const auto& row : form->rows) fresh.present.push_back(row.empty());
    fresh.settled = fresh.present;
  }

  void Settle(Slice& slice, RowId row) {
    if (slice.settled[row]) return;
    slice.settled[row] = true;
    ++settled_slices[row];
  }

  Status CheckLength(RowId row, size_t slice, size_t length) const {
    if (length == layout.size(slice)) return Status::Ok();
    return Status::DataError(fmt::format("slice {} of row {} has {} floats instead of {}", slice,
                                         row, length, layout.size(slice)));
  }

  static Status Refusal(RowId row, size_t slice, const Sketch& sketch, const SliceBounds& bounds) {
    if (!std::isfinite(sketch.squares)) {
      return Status::DataError(
          fmt::format("slice {} of row {} holds a value that is not finite", slice, row));
    }
    if (!(sketch.squares <= bounds.squares)) {
      return Status::DataError(
          fmt::format("slice {} of row {} has norm {:.6g} or more, above the declared {:.6g}",
                      slice, row, std::sqrt(sketch.squares), bounds.claim.norm_limit));
    }
    if (std::sqrt(sketch.squares) < bounds.claim.norm_least) {
      return Status::DataError(
          fmt::format("slice {} of row {} has norm {:.6g}, below the declared {:.6g}", slice, row,
                      std::sqrt(sketch.squares), bounds.claim.norm_limit));
    }
    return Status::DataError(fmt::format(
        "slice {} of row {} has sketch {:.9g} instead of the declared {:.9g}: its values are not "
        "those that the worker declared",
        slice, row, sketch.projection, bounds.claim.projection));
  }

  // To be called before the first slice.
  Status MakeRoom() {
    if (home.empty()) {
      if (!own_home.Reserve(total)) return NoMemory(total);
      home = {own_home.data(), total};
    }
    const size_t floats = sums->floats_needed();
    return pool.Reserve(floats) ? Status::Ok() : NoMemory(floats);
  }

  static Status NoMemory(size_t floats) {
    return Status::Resource(
        fmt::format("out of memory: the sums need {} bytes", floats * sizeof(float)));
  }

  void Added(RowId row, size_t index, bool finished) {
    Slice& slice = slices[index];
    slice.present[row] = true;
    touched[row] = true;
    Settle(slice, row);
    for (RowId twin : sums->Alternatives(row)) Settle(slice, twin);
    if (!finished) return;
    slice.finished = true;
    --unfinished;
    if (limits.keep_rows) return;  // Until all slices are finished, any row may be needed.
    for (RowId other = 0; other < form->workers; ++other) Settle(slice, other);
  }

  void SumTallies(std::span<const SliceSums::Term> terms) {
    tally = Tally();
    for (const SliceSums::Term& term : terms) tally.Add(term.weight, tallies[term.row]);
  }

  const size_t total;  // Floats in the sum.
  SliceLayout layout;
  DecodeLimits limits;
  ParallelFor& parallel;
  FloatPool pool;
  FloatPool own_home;     // Used if none was lent.
  std::span<float> home;  // Empty until there is one.
  bool spoiled = false;
  bool ended = false;  // An approximate sum has replaced the slices at home.
  const CodeForm* form = nullptr;
  std::unique_ptr<SliceSums> sums;
  Slice fresh;  // A slice at the beginning of a step.
  std::vector<Slice> slices;
  size_t unfinished = 0;
  std::vector<bool> then_present;      // Rows of the current slice, once it is added.
  std::vector<bool> touched;           // Per row.
  std::vector<Tally> tallies;          // One per row, once its first slice is present.
  Tally tally;                         // The sum's.
  std::vector<size_t> settled_slices;  // Per row.
};

StreamDecoder::StreamDecoder(const CodeForm& form, size_t length, size_t slice_length,
                             ParallelFor& parallel, DecodeLimits limits)
    : impl_(new Impl{length, {length, slice_length}, limits, parallel}) {
  MOTLEY_ASSERT(length > 0 && slice_length > 0);
  Reset(form);
}

StreamDecoder::~StreamDecoder() = default;

void StreamDecoder::Reset(const CodeForm& form) { impl_->Reset(form); }

void StreamDecoder::SetHome(std::span<float> home) {
  MOTLEY_ASSERT(home.empty() || home.size() == length());
  impl_->home = home;
  impl_->own_home = {};
  impl_->Reset(*std::exchange(impl_->form, nullptr));
}

size_t StreamDecoder::length() const { return impl_->total; }
size_t StreamDecoder::answer_length() const { return impl_->layout.length; }
size_t StreamDecoder::slice_count() const { return impl_->layout.count(); }
size_t StreamDecoder::slice_begin(size_t slice) const { return impl_->layout.begin(slice); }
size_t StreamDecoder::slice_length(size_t slice) const { return impl_->layout.size(slice); }

Result<StreamDecoder::Outcome> StreamDecoder::AddSlice(RowId row, size_t slice,
                                                       AlignedVector& values, const Claim& claim,
                                                       const Tally& tally) {
  MOTLEY_ASSERT(!impl_->ended);
  if (row >= impl_->form->workers || slice >= slice_count()) {
    return Status::DataError(
        fmt::format("there is no slice {} of row {}; there are {} slices and {} rows", slice, row,
                    slice_count(), impl_->form->workers));
  }
  const Impl::Slice& state = impl_->slices[slice];
  if (state.settled[row]) {
    const bool here = state.present[row] && !impl_->form->rows[row].empty();
    return here ? Outcome::kDuplicate : Outcome::kNotNeeded;
  }
  MOTLEY_RETURN_IF_ERROR(impl_->CheckLength(row, slice, values.size()));
  MOTLEY_RETURN_IF_ERROR(impl_->MakeRoom());
  const SliceBounds bounds{SquaresLimit(claim.norm_limit), claim};
  impl_->then_present = state.present;
  impl_->then_present[row] = true;
  const SliceSums::Added added =
      impl_->sums->Add({row, slice, values, bounds, impl_->then_present});
  impl_->spoiled |= added.spoiled;
  if (!bounds.Admit(added.sketch)) return Impl::Refusal(row, slice, added.sketch, bounds);
  impl_->Added(row, slice, added.finished);
  if (slice == 0) impl_->tallies[row] = tally;
  if (slice == 0 && added.finished) {
    impl_->SumTallies(impl_->sums->TermsOf(impl_->then_present));
  }
  return Outcome::kAdded;
}

bool StreamDecoder::Touched(RowId row) const { return impl_->touched[row]; }

bool StreamDecoder::spoiled() const { return impl_->spoiled; }

bool StreamDecoder::RowComplete(RowId row) const {
  return impl_->settled_slices[row] == slice_count();
}

bool StreamDecoder::Decodable() const { return impl_->unfinished == 0; }

bool StreamDecoder::Decodable(size_t slice) const { return impl_->slices[slice].finished; }

Status StreamDecoder::Finish(std::span<float> sum) {
  MOTLEY_ASSERT(!impl_->ended);
  if (sum.size() != length()) {
    return Status::InvalidArgument(
        fmt::format("the output has room for {} floats instead of {}", sum.size(), length()));
  }
  if (spoiled()) {
    return Status::DataError("part of a refused slice is in the sums; start the step again");
  }
  if (!Decodable()) {
    return Status::NotDecodable(
        fmt::format("{} of {} slices do not decode yet", impl_->unfinished, slice_count()));
  }
  const std::span<float> home = impl_->home;
  if (sum.data() == home.data()) return Status::Ok();
  impl_->parallel.For(length(), kCombineGrain, [&](size_t begin, size_t end) {
    std::copy(home.begin() + static_cast<ptrdiff_t>(begin),
              home.begin() + static_cast<ptrdiff_t>(end),
              sum.begin() + static_cast<ptrdiff_t>(begin));
  });
  return Status::Ok();
}

Result<ApproximateDecoding> StreamDecoder::FinishApproximately(std::span<float> sum,
                                                               const std::vector<bool>& rows) {
  MOTLEY_ASSERT(impl_->limits.keep_rows && sum.size() == length());
  std::vector<bool> whole(impl_->form->workers);
  for (RowId row = 0; row < whole.size(); ++row) {
    const bool wanted = rows.empty() || rows[row];
    whole[row] = wanted && RowComplete(row) && !impl_->form->rows[row].empty();
  }
  if (std::find(whole.begin(), whole.end(), true) == whole.end()) {
    return Status::NotDecodable(
        "no answer is complete, so there is nothing to approximate the sum with");
  }
  MOTLEY_ASSIGN_OR_RETURN(ApproximateDecoding best, SolveApproximate(*impl_->form, whole));
  best = Unbiased(*impl_->form, std::move(best));
  for (size_t slice = 0; slice < slice_count(); ++slice) {
    const auto part = sum.subspan(slice_begin(slice), slice_length(slice));
    impl_->sums->WriteWeighted(slice, best.a, part);
  }
  impl_->SumTallies(TermsOfVector(best.a, 1));
  impl_->ended = true;
  return best;
}

const Tally& StreamDecoder::tally() const { return impl_->tally; }

double StreamDecoder::residual() const { return impl_->ended ? 0 : impl_->sums->residual(); }
double StreamDecoder::amplification() const {
  return impl_->ended ? 0 : impl_->sums->amplification();
}

size_t StreamDecoder::held_bytes() const {
  const size_t sums = impl_->pool.size_bytes() + impl_->own_home.size_bytes();
  return sums + impl_->sums->waiting_bytes();
}

}  // namespace motley
