// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/step_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/kernels/combine.h"
#include "runtime/memory_need.h"

namespace motley {
namespace {

constexpr size_t kGrain = 1u << 14;  // The least number of floats that is worth a thread.

}  // namespace

void SlicesCame::Start(size_t slices) {
  seen.assign(slices, false);
  count = 0;
  tally.reset();
}

void SlicesCame::Add(size_t slice) {
  MOTLEY_ASSERT(slice < seen.size());
  if (seen[slice]) return;
  seen[slice] = true;
  ++count;
}

Status SlicesCame::Check(size_t slice, const Tally& declared, bool once) const {
  if (once && count > 0 && seen[slice]) {
    return Status::DataError(fmt::format("slice {} of an answer came twice", slice));
  }
  if (!tally || *tally == declared) return Status::Ok();
  return Status::DataError(
      fmt::format("slice {} of an answer declares another loss or weight than the first", slice));
}

Status SpareSlices::MakeRoom(AlignedVector& values, size_t size) {
  if (values.empty() && !spare_.empty()) {
    values = std::move(spare_.back());
    spare_.pop_back();
  }
  return OrNoMemory("a slice that arrives", [&] {
    values.resize(size);
    return Status::Ok();
  });
}

void SpareSlices::GiveBack(AlignedVector values) {
  if (!values.empty() && spare_.size() < most_) spare_.push_back(std::move(values));
}

StepSum::StepSum(size_t length, size_t slice_length, ParallelFor& parallel,
                 const DecodeLimits& limits, SpareSlices& spare)
    : cut_(length, slice_length),
      length_(length),
      parallel_(parallel),
      limits_(limits),
      spare_(spare) {}

void StepSum::SetHome(std::span<float> home) {
  MOTLEY_ASSERT(home.size() == length_);
  home_ = home;
  if (decoder_ != nullptr) decoder_->SetHome(home_);
}

void StepSum::OpenRows(const std::shared_ptr<const CodeForm>& form) {
  rows_ = true;
  if (form->kept_parts > 0) return;
  if (decoder_ == nullptr) {
    decoder_ = std::make_unique<StreamDecoder>(*form, length_, cut_.length(), parallel_, limits_);
    decoder_->SetHome(home_);
  } else {
    decoder_->Reset(*form);
  }
  form_ = form;
  if (cut_.total() != decoder_->answer_length()) {
    cut_ = Slicing(decoder_->answer_length(), cut_.length());
  }
}

void StepSum::OpenLists() {
  rows_ = false;
  empty_ = true;
  of_lists_ = Tally();
  if (cut_.total() != length_) cut_ = Slicing(length_, cut_.length());
}

// The sum of lists is in the home already.
Status StepSum::Finish() { return rows_ ? decoder_->Finish(home_) : Status::Ok(); }

Result<ApproximateDecoding> StepSum::FinishApproximately(const std::vector<bool>& rows) {
  return decoder_->FinishApproximately(home_, rows);
}

// Vectors come in any order; each is read once.
void StepSum::AddVector(std::vector<AlignedVector> slices, const Tally& tally) {
  of_lists_.Add(1, tally);
  for (size_t slice = 0; slice < slices.size(); ++slice) {
    AlignedVector& values = slices[slice];
    const std::span<float> sum = home_.subspan(cut_.begin(slice), cut_.size(slice));
    parallel_.For(values.size(), kGrain, [&](size_t begin, size_t end) {
      const std::span<const float> part = std::span(values).subspan(begin, end - begin);
      const std::span<float> into = sum.subspan(begin, end - begin);
      if (empty_) {
        std::copy(part.begin(), part.end(), into.begin());
      } else {
        AddWeighted(Field::kReal, 1.0, part, into);
      }
    });
    spare_.GiveBack(std::move(values));
  }
  empty_ = false;
}

}  // namespace motley
