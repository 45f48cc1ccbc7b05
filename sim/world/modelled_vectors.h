// SPDX-License-Identifier: Apache-2.0
// Short vectors for cost-only simulations. They replace a model's vectors and take as long as these
// on links, slice by slice; answers of a part's length do so in total. Samples may also count as
// longer than they are. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/links/slicing.h"
#include "transport/wire/header.h"

namespace motley {

// The short and the modelled vector have the same number of shards, and with one shard the same
// number of slices. (With more, all shards have as many slices as the longest one.) In both, the
// gradient is padded to an even length and the parameters are not.
class ModelledVectors {
 public:
  // Models nothing: every frame counts for its own bytes.
  ModelledVectors() = default;
  // Models a gradient of `gradient_bytes` > 0, cut into slices of `slice_length` floats (even,
  // >= 2). `parts` is the number of parts of expected answers; short vectors with other numbers of
  // parts may have the same length. `shards` > 1 cut the vector as a Route does.
  ModelledVectors(uint64_t gradient_bytes, uint32_t slice_length, uint32_t parts = 1,
                  uint32_t shards = 1);

  // Samples count for `times` > 0 as many bytes as they have.
  void LengthenSamples(double times) { sample_times_ = times; }

  // Parameters of the short vector.
  size_t parameter_count() const { return parameters_.short_ends.back(); }
  uint32_t slice_length() const { return static_cast<uint32_t>(slice_); }
  // Floats of the modelled vector, padded.
  size_t modelled_length() const { return answers_.front().modelled_ends.back(); }

  // The bytes that the payload of this frame counts for on a link.
  size_t PayloadBytes(const Header& header) const;

 private:
  // Where the ranges of shards end.
  struct Cut {
    std::vector<size_t> short_ends{0}, modelled_ends{0};
  };

  const Cut& CutOf(const Header& header) const;
  // The floats that a slice of the short range, of length `range`, stands for.
  size_t SliceFloats(size_t offset, size_t range, size_t modelled_range, size_t floats) const;

  size_t slice_ = 1;           // Floats in a short slice,
  size_t modelled_slice_ = 0;  // and in one that it stands for; 0: nothing is modelled.
  Cut parameters_;
  std::vector<Cut> answers_{1};  // The cuts of answers in 1, 2, ... parts.
  double sample_times_ = 1;
};

}  // namespace motley
