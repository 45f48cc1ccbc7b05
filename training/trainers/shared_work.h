// SPDX-License-Identifier: Apache-2.0
// The samples of one gradient that several devices share: they take pieces as they become free.
// Also decides how large pieces are. Loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "training/trainers/term_work.h"

namespace motley {

class SharedWork {
 public:
  // A run of samples, numbered in the order of the terms.
  struct Piece {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t samples() const { return end - begin; }
  };

  SharedWork(std::vector<MergedTerm> terms, const Model& model);

  uint64_t samples() const { return samples_; }
  uint64_t left() const;  // Samples that no device has taken.
  // True if the model adds up all terms in one pass (IsWeight), so that sums stay on devices.
  bool one_sum() const { return one_sum_; }

  // Takes at most `most` samples as one piece; returned samples go first.
  Piece Take(uint64_t most);
  // Returns pieces that were taken but do not count.
  void GiveBack(std::span<const Piece> pieces);
  std::vector<MergedTerm> Terms(const Piece& piece) const;

 private:
  // A slice, and the number of its first sample.
  struct Place {
    uint64_t begin = 0;
    size_t term = 0;
    size_t slice = 0;
  };

  std::vector<MergedTerm> terms_;
  std::vector<Place> places_;  // Ascending.
  uint64_t samples_ = 0;
  uint64_t begun_ = 0;           // Samples before this were taken.
  std::vector<Piece> returned_;  // Pieces that were given back.
  bool one_sum_ = true;
};

// How many of `left` samples (of `total` at first) a device takes next if it does `part` (0 to 1)
// of all work. A device takes several pieces of its share, smaller towards the end. So all devices
// end at about the same time, and cancelled work stops soon. 0: the others should do the rest;
// never for the `fastest` device.
uint64_t NextPiece(uint64_t left, uint64_t total, double part, bool fastest);

}  // namespace motley
