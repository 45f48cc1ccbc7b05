// SPDX-License-Identifier: Apache-2.0
#include "sim/modelled_vectors.h"

#include <algorithm>

#include "training/trainer.h"

namespace motley {
namespace {

constexpr size_t kSliceFloats = 4;  // Of what is really there: enough for sums to be checked.

}  // namespace

ModelledVectors::ModelledVectors(uint64_t gradient_bytes, uint32_t slice_length)
    : modelled_slice_(slice_length),
      modelled_parameters_((gradient_bytes + sizeof(float) - 1) / sizeof(float)) {
  modelled_vector_ = VectorLength(modelled_parameters_);
  const Slicing modelled{modelled_vector_, modelled_slice_};
  const size_t before_last = modelled.count() - 1;
  const size_t last = std::min(kSliceFloats, modelled.size(before_last));
  cut_.length = std::min<size_t>(kSliceFloats, modelled_slice_);
  cut_.total = before_last * cut_.length + std::min(last, cut_.length);
  parameters_ = cut_.total - (modelled_vector_ - modelled_parameters_);
}

size_t ModelledVectors::SliceBytes(const Header& header) const {
  const size_t total =
      header.kind == FrameKind::kGradient ? modelled_vector_ : modelled_parameters_;
  const Slicing modelled{total, modelled_slice_};
  const size_t slice = header.offset / cut_.length;
  return slice < modelled.count() ? modelled.size(slice) * sizeof(float) : header.length;
}

}  // namespace motley
