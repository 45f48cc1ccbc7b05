// SPDX-License-Identifier: Apache-2.0
// Cost-only: vectors of a few floats in the place of a model's, which take as long on links as
// those would, slice by slice; with answers of a part's length, together. So may samples be. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/links/slicing.h"
#include "transport/wire/header.h"

namespace motley {

// Both vectors have the same number of slices, and what differs between a gradient, which is padded
// to an even length, and the parameters differs in both.
class ModelledVectors {
 public:
  // Nothing is modelled: every frame costs what it has.
  ModelledVectors() = default;
  // A gradient of `gradient_bytes` > 0, cut into slices of `slice_length` floats (even, >= 2).
  // `parts`: of the answers that are expected; with so few floats, others may look alike.
  ModelledVectors(uint64_t gradient_bytes, uint32_t slice_length, uint32_t parts = 1);

  // Samples count for so many times their bytes, > 0.
  void LengthenSamples(double times) { sample_times_ = times; }

  size_t parameter_count() const { return parameters_; }  // That are really there.
  uint32_t slice_length() const { return static_cast<uint32_t>(cut_.length); }
  size_t modelled_length() const { return modelled_vector_; }  // Floats, padded.

  // What the payload of this frame counts for on a link.
  size_t PayloadBytes(const Header& header) const {
    if (header.kind == FrameKind::kPartition) {
      return static_cast<size_t>(sample_times_ * static_cast<double>(header.length));
    }
    const bool probe = header.kind == FrameKind::kProbe && header.total > 0;  // Of a vector.
    const bool vector =
        header.kind == FrameKind::kGradient || header.kind == FrameKind::kParameters || probe;
    if (modelled_vector_ == 0 || !vector || header.length == 0) return header.length;
    return SliceBytes(header);
  }

 private:
  size_t SliceBytes(const Header& header) const;
  uint32_t PartsOf(size_t answer_length) const;

  Slicing cut_;
  size_t parameters_ = 0;
  size_t modelled_slice_ = 0;
  size_t modelled_vector_ = 0;
  size_t modelled_parameters_ = 0;
  uint32_t parts_ = 1;
  double sample_times_ = 1;
};

}  // namespace motley
