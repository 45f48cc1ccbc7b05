// SPDX-License-Identifier: Apache-2.0
// Short vectors for cost-only simulations. They replace a model's vectors and take as long as these
// on links, slice by slice; answers of a part's length do so in total. Samples may also count as
// longer than they are. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/links/slicing.h"
#include "transport/wire/header.h"

namespace motley {

// The short and the modelled vector have the same number of slices. In both, the gradient is padded
// to an even length and the parameters are not.
class ModelledVectors {
 public:
  // Models nothing: every frame counts for its own bytes.
  ModelledVectors() = default;
  // Models a gradient of `gradient_bytes` > 0, cut into slices of `slice_length` floats (even,
  // >= 2). `parts` is the number of parts of expected answers; short vectors with other numbers of
  // parts may have the same length.
  ModelledVectors(uint64_t gradient_bytes, uint32_t slice_length, uint32_t parts = 1);

  // Samples count for `times` > 0 as many bytes as they have.
  void LengthenSamples(double times) { sample_times_ = times; }

  size_t parameter_count() const { return parameters_; }  // Parameters of the short vector.
  uint32_t slice_length() const { return static_cast<uint32_t>(slice_); }
  size_t modelled_length() const { return modelled_vector_; }  // Floats, padded.

  // The bytes that the payload of this frame counts for on a link.
  size_t PayloadBytes(const Header& header) const {
    if (header.kind == FrameKind::kPartition) {
      return static_cast<size_t>(sample_times_ * static_cast<double>(header.length));
    }
    const bool probe = header.kind == FrameKind::kProbe && header.total > 0;  // With a vector.
    const bool vector =
        header.kind == FrameKind::kGradient || header.kind == FrameKind::kParameters || probe;
    if (modelled_vector_ == 0 || !vector || header.length == 0) return header.length;
    return SliceBytes(header);
  }

 private:
  size_t SliceBytes(const Header& header) const;
  uint32_t PartsOf(size_t answer_length) const;

  size_t slice_ = 1;   // Floats in a short slice,
  size_t vector_ = 0;  // and in a short vector.
  size_t parameters_ = 0;
  size_t modelled_slice_ = 0;
  size_t modelled_vector_ = 0;
  size_t modelled_parameters_ = 0;
  uint32_t parts_ = 1;
  double sample_times_ = 1;
};

}  // namespace motley
