// SPDX-License-Identifier: Apache-2.0
#include "sim/world/modelled_vectors.h"

#include <algorithm>

#include "coding/decode/part_sums.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

constexpr size_t kSliceFloats = 4;  // Floats in a short slice: enough to check sums.

}  // namespace

ModelledVectors::ModelledVectors(uint64_t gradient_bytes, uint32_t slice_length, uint32_t parts)
    : modelled_slice_(slice_length),
      modelled_parameters_((gradient_bytes + sizeof(float) - 1) / sizeof(float)),
      parts_(parts) {
  modelled_vector_ = VectorLength(modelled_parameters_);
  const Slicing modelled(modelled_vector_, modelled_slice_);
  const size_t before_last = modelled.count() - 1;
  const size_t last = std::min(kSliceFloats, modelled.size(before_last));
  slice_ = std::min<size_t>(kSliceFloats, modelled_slice_);
  vector_ = before_last * slice_ + std::min(last, slice_);
  parameters_ = vector_ - (modelled_vector_ - modelled_parameters_);
}

size_t ModelledVectors::SliceBytes(const Header& header) const {
  const bool answer = header.kind != FrameKind::kParameters;
  const uint32_t parts = answer ? PartsOf(header.total) : 1;
  const size_t total =
      answer ? PartLength(Field::kComplexPacked, modelled_vector_, parts) : modelled_parameters_;
  const size_t before = std::min(header.offset / slice_ * modelled_slice_, total);
  // Parts are rounded to even lengths, so a short part may have a slice more or less.
  const bool last = header.offset + slice_ >= header.total;
  if (last) return (total - before) * sizeof(float);
  return before < total ? std::min(modelled_slice_, total - before) * sizeof(float) : header.length;
}

uint32_t ModelledVectors::PartsOf(size_t answer_length) const {
  for (uint32_t parts = parts_; parts > 1; --parts) {
    if (PartLength(Field::kComplexPacked, vector_, parts) == answer_length) return parts;
  }
  return 1;
}

}  // namespace motley
