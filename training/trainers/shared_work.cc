// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/shared_work.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr double kPiecesOfShare = 4;  // Minimum, unless pieces would be too small.
constexpr double kPartOfTheRest = 0.75;
constexpr uint64_t kLeast = 32;    // Smallest usual piece, because each has a fixed cost.
constexpr double kLeastPart = 16;  // Little work is still cut into this many pieces.
constexpr uint64_t kStep = 8;      // Kernels prefer multiples of eight rows.

uint64_t Round(double samples) { return static_cast<uint64_t>(samples / kStep + 0.5) * kStep; }

}  // namespace

SharedWork::SharedWork(std::vector<MergedTerm> terms, const Model& model)
    : terms_(std::move(terms)) {
  for (size_t t = 0; t < terms_.size(); ++t) {
    one_sum_ &= IsWeight(terms_[t], model);
    for (size_t s = 0; s < terms_[t].slices.size(); ++s) {
      places_.push_back({samples_, t, s});
      samples_ += terms_[t].slices[s].range.count;
    }
  }
}

uint64_t SharedWork::left() const {
  uint64_t left = samples_ - begun_;
  for (const Piece& piece : returned_) left += piece.samples();
  return left;
}

SharedWork::Piece SharedWork::Take(uint64_t most) {
  if (!returned_.empty()) {
    Piece& first = returned_.back();
    const Piece taken{first.begin, std::min(first.end, first.begin + most)};
    first.begin = taken.end;
    if (first.samples() == 0) returned_.pop_back();
    return taken;
  }
  const Piece taken{begun_, std::min(samples_, begun_ + most)};
  begun_ = taken.end;
  return taken;
}

void SharedWork::GiveBack(std::span<const Piece> pieces) {
  returned_.insert(returned_.end(), pieces.begin(), pieces.end());
}

std::vector<MergedTerm> SharedWork::Terms(const Piece& piece) const {
  MOTLEY_ASSERT(piece.begin < piece.end && piece.end <= samples_);
  auto at = std::upper_bound(places_.begin(), places_.end(), piece.begin,
                             [](uint64_t sample, const Place& p) { return sample < p.begin; });
  std::vector<MergedTerm> cut;
  size_t last_term = terms_.size();
  for (--at; at != places_.end() && at->begin < piece.end; ++at) {
    const MergedTerm& term = terms_[at->term];
    PartitionSlice slice = term.slices[at->slice];
    const uint64_t begin = std::max(piece.begin, at->begin);
    const uint64_t end = std::min(piece.end, at->begin + slice.range.count);
    slice.range.begin += static_cast<uint32_t>(begin - at->begin);
    slice.range.count = static_cast<uint32_t>(end - begin);
    if (at->term != std::exchange(last_term, at->term)) {
      cut.push_back(
          {.coefficient = term.coefficient, .other_parts = term.other_parts, .ends = term.ends});
    }
    cut.back().slices.push_back(std::move(slice));
  }
  return cut;
}

uint64_t NextPiece(uint64_t left, uint64_t total, double part, bool fastest) {
  const double share = static_cast<double>(left) * part;
  const double usual = static_cast<double>(total) * part / kPiecesOfShare;
  const uint64_t wanted = Round(std::min(usual, kPartOfTheRest * share));
  // No larger than a device's share, because others would wait for it.
  const uint64_t least = std::clamp(Round(static_cast<double>(total) / kLeastPart), kStep, kLeast);
  uint64_t piece = std::max(wanted, std::min(least, Round(share)));
  if (piece == 0 && fastest) piece = least;
  return std::min(piece, left);
}

}  // namespace motley
