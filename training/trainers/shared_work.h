// SPDX-License-Identifier: Apache-2.0
// The samples of one gradient, of which several devices take pieces as they become free, and how
// large those are. Loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "training/trainers/term_work.h"

namespace motley {

class SharedWork {
 public:
  // Samples by their place in the order of the terms.
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t samples() const { return end - begin; }
  };

  SharedWork(std::vector<MergedTerm> terms, const Model& model);

  uint64_t samples() const { return samples_; }
  uint64_t left() const;  // Samples that nobody has.
  // Whether the model adds all terms up in one pass (IsWeight), so that sums stay on devices.
  bool one_sum() const { return one_sum_; }

  // At most so many of those that are left, in one piece: first what was given back.
  Piece Take(uint64_t most);
  // They were taken, and count for nothing.
  void GiveBack(std::span<const Piece> pieces);
  std::vector<MergedTerm> Terms(const Piece& piece) const;

 private:
  // A slice, by the place of its first sample.
  struct Place {
    uint64_t begin = 0;
    size_t term = 0;
    size_t slice = 0;
  };

  std::vector<MergedTerm> terms_;
  std::vector<Place> places_;  // Ascending.
  uint64_t samples_ = 0;
  uint64_t begun_ = 0;           // Places before this were taken,
  std::vector<Piece> returned_;  // and these given back.
  bool one_sum_ = true;
};

// How many of `left` samples a device takes that does `part` (0 to 1) of what all devices do
// together; `total`: that there were. A few pieces of each share, smaller towards the end, so that
// all are done at about the same time and the work soon stops when it is not needed. 0: others had
// better do them all; never for the `fastest`.
uint64_t NextPiece(uint64_t left, uint64_t total, double part, bool fastest);

}  // namespace motley
