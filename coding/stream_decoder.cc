// SPDX-License-Identifier: Apache-2.0
#include "coding/stream_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coding/combine.h"
#include "coding/slice_sums.h"

namespace motley {
namespace {

// The declared norm was rounded to float and summed in another order.
constexpr double kNormSlack = 1 + 1e-5;

double ParallelSumOfSquares(std::span<const float> values, ParallelFor& parallel) {
  std::vector<double> parts((values.size() + kCombineGrain - 1) / kCombineGrain, 0);
  parallel.For(values.size(), kCombineGrain, [&](size_t begin, size_t end) {
    parts[begin / kCombineGrain] = SumOfSquares(values.subspan(begin, end - begin));
  });
  double sum = 0;
  for (double part : parts) sum += part;
  return sum;
}

}  // namespace

struct StreamDecoder::Impl {
  struct Slice {
    std::vector<bool> present;  // Rows that arrived, or that hold nothing.
    std::vector<bool> settled;  // Rows that arrived, or that are not needed.
    bool finished = false;
  };

  void Reset(const CodeForm& new_form) {
    form = &new_form;
    MOTLEY_ASSERT(form->field == Field::kReal ||
                  (layout.length % 2 == 0 && layout.slice_length % 2 == 0));
    const SumsContext context{*form, layout, limits, parallel, pool};
    sums = form->tiling() ? MakeTilingSums(context) : MakeClosedSums(context);
    Slice empty;
    for (const auto& row : form->rows) empty.present.push_back(row.empty());
    empty.settled = empty.present;
    slices.assign(layout.count(), empty);
    unfinished = slices.size();
    touched.assign(form->workers, false);
    settled_slices.assign(form->workers, 0);
    for (RowId row = 0; row < form->workers; ++row) {
      if (form->rows[row].empty()) settled_slices[row] = slices.size();
    }
  }

  void Settle(Slice& slice, RowId row) {
    if (slice.settled[row]) return;
    slice.settled[row] = true;
    ++settled_slices[row];
  }

  Status CheckValues(RowId row, size_t slice, std::span<const float> values, double norm_limit) {
    if (values.size() != layout.size(slice)) {
      return Status::DataError(fmt::format("slice {} of row {} has {} floats instead of {}", slice,
                                           row, values.size(), layout.size(slice)));
    }
    const double norm = std::sqrt(ParallelSumOfSquares(values, parallel));
    if (!std::isfinite(norm)) {
      return Status::DataError(
          fmt::format("slice {} of row {} holds a value that is not finite", slice, row));
    }
    if (!(norm <= norm_limit * kNormSlack)) {
      return Status::DataError(
          fmt::format("slice {} of row {} has norm {:.6g}, above the declared {:.6g}", slice, row,
                      norm, norm_limit));
    }
    return Status::Ok();
  }

  void Added(RowId row, size_t index) {
    Slice& slice = slices[index];
    slice.present[row] = true;
    touched[row] = true;
    Settle(slice, row);
    for (RowId twin : sums->Twins(row)) Settle(slice, twin);
    if (!sums->Finished(index, slice.present)) return;
    slice.finished = true;
    --unfinished;
    for (RowId other = 0; other < form->workers; ++other) Settle(slice, other);
  }

  SliceLayout layout;
  DecodeLimits limits;
  ParallelFor& parallel;
  FloatPool pool;
  const CodeForm* form = nullptr;
  std::unique_ptr<SliceSums> sums;
  std::vector<Slice> slices;
  size_t unfinished = 0;
  std::vector<bool> touched;           // Per row.
  std::vector<size_t> settled_slices;  // Per row.
};

StreamDecoder::StreamDecoder(const CodeForm& form, size_t length, size_t slice_length,
                             ParallelFor& parallel, DecodeLimits limits)
    : impl_(new Impl{{length, slice_length}, limits, parallel}) {
  MOTLEY_ASSERT(length > 0 && slice_length > 0);
  Reset(form);
}

StreamDecoder::~StreamDecoder() = default;

void StreamDecoder::Reset(const CodeForm& form) { impl_->Reset(form); }

size_t StreamDecoder::length() const { return impl_->layout.length; }
size_t StreamDecoder::slice_count() const { return impl_->layout.count(); }
size_t StreamDecoder::slice_begin(size_t slice) const { return impl_->layout.begin(slice); }
size_t StreamDecoder::slice_length(size_t slice) const { return impl_->layout.size(slice); }

Result<StreamDecoder::Outcome> StreamDecoder::AddSlice(RowId row, size_t slice,
                                                       std::vector<float>& values,
                                                       double norm_limit) {
  if (row >= impl_->form->workers || slice >= slice_count()) {
    return Status::DataError(fmt::format("there is no slice {} of row {}: {} slices, {} rows",
                                         slice, row, slice_count(), impl_->form->workers));
  }
  const Impl::Slice& state = impl_->slices[slice];
  if (state.settled[row]) {
    const bool here = state.present[row] && !impl_->form->rows[row].empty();
    return here ? Outcome::kDuplicate : Outcome::kNotNeeded;
  }
  MOTLEY_RETURN_IF_ERROR(impl_->CheckValues(row, slice, values, norm_limit));
  const size_t floats = impl_->sums->floats_needed();
  if (!impl_->pool.Reserve(floats)) {
    return Status::Resource(fmt::format("no memory for {} bytes of sums", floats * sizeof(float)));
  }
  impl_->sums->Add(row, slice, values);
  impl_->Added(row, slice);
  return Outcome::kAdded;
}

bool StreamDecoder::Touched(RowId row) const { return impl_->touched[row]; }

bool StreamDecoder::RowComplete(RowId row) const {
  return impl_->settled_slices[row] == slice_count();
}

bool StreamDecoder::Decodable() const { return impl_->unfinished == 0; }

std::vector<RowId> StreamDecoder::RowsToReplace(const std::vector<bool>& absent) const {
  MOTLEY_ASSERT(absent.size() == impl_->form->workers);
  if (Decodable()) return {};
  std::vector<bool> present(absent.size(), true);
  for (RowId row = 0; row < absent.size(); ++row) {
    if (!absent[row]) continue;
    for (const Impl::Slice& slice : impl_->slices) {
      if (!slice.finished && !slice.present[row]) present[row] = false;
    }
  }
  return impl_->sums->RowsToReplace(present);
}

Status StreamDecoder::Finish(std::span<float> sum) {
  if (sum.size() != length()) {
    return Status::InvalidArgument(
        fmt::format("room for {} floats instead of {}", sum.size(), length()));
  }
  if (!Decodable()) {
    return Status::NotDecodable(
        fmt::format("{} of {} slices do not decode yet", impl_->unfinished, slice_count()));
  }
  for (size_t slice = 0; slice < slice_count(); ++slice) {
    const auto part = sum.subspan(slice_begin(slice), slice_length(slice));
    Status status = impl_->sums->WriteSum(slice, part);
    if (!status.ok()) return status.WithContext(fmt::format("slice {}", slice));
  }
  return Status::Ok();
}

double StreamDecoder::residual() const { return impl_->sums->residual(); }
double StreamDecoder::amplification() const { return impl_->sums->amplification(); }

size_t StreamDecoder::held_bytes() const {
  return impl_->pool.size_bytes() + impl_->sums->waiting_bytes();
}

}  // namespace motley
