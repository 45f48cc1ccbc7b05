// SPDX-License-Identifier: Apache-2.0
// The sum of a step. Rows of a code are decoded slice by slice as they come; whole vectors over
// lists are added up. It checks nothing but what the decoder checks: which answers count is decided
// by Answers. Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "coding/decode/stream_decoder.h"
#include "runtime/links/slicing.h"

namespace motley {

struct SlicesCame {  // What has come of an answer.
  std::vector<bool> seen;
  size_t count = 0;
  std::optional<Tally> tally;  // That all of them declare.

  void Start(size_t slices);
  void Add(size_t slice);
};

class StepSum {
 public:
  // `length` of the sum and `slice_length` in floats. `home`: where sums may live while a step is
  // open, or empty; lists need it, and for rows, Finish into it then needs no memory beside.
  // `keep_rows`: as in DecodeLimits.
  StepSum(size_t length, size_t slice_length, std::span<float> home, ParallelFor& parallel,
          bool keep_rows);

  // A step starts, or starts again. Rows that are kept leave the decoder as it is.
  void OpenRows(const std::shared_ptr<const CodeForm>& form);
  void OpenLists();
  const Slicing& cut() const { return cut_; }  // How its answers are cut.

  // What it consists of. The decoder is there once a step of rows that are sent was opened.
  StreamDecoder& decoder() const { return *decoder_; }
  // A whole vector, slice by slice, whose memory is used again.
  void AddVector(std::vector<AlignedVector> slices, const Tally& tally);

  // Writes the sum of rows; that of lists is in the home already.
  Status Finish(std::span<float> sum);
  const Tally& tally() const { return rows_ ? decoder_->tally() : of_lists_; }
  double amplification() const { return rows_ ? decoder_->amplification() : 1; }

  // Memory for a slice, used again. What was given back last is taken first, being in the cache
  // still: through shared memory slices come one at a time. kResource when there is none.
  Status MakeRoom(AlignedVector& values, size_t size);
  void GiveBack(AlignedVector values);

 private:
  Slicing cut_;
  const size_t length_;
  const std::span<float> home_;
  ParallelFor& parallel_;
  const bool keep_rows_;
  std::shared_ptr<const CodeForm> form_;  // The decoder's.
  std::unique_ptr<StreamDecoder> decoder_;
  std::vector<AlignedVector> spare_;
  Tally of_lists_;
  bool rows_ = true;
  bool empty_ = true;  // No vector was added: what stands in the sum is old.
};

}  // namespace motley
