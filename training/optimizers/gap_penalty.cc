// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gap_penalty.h"

#include <algorithm>
#include <cmath>

namespace motley {
namespace {

constexpr double kFade = 0.999;
constexpr float kLeastStep = 1e-8f;  // Per unit of rate.

}  // namespace

void GapPenalty::Begin(size_t piece, double rate) {
  pieces_[piece].rate = rate;
  pieces_[piece].largest = std::max(pieces_[piece].largest, rate);
}

void GapPenalty::End() {
  for (Piece& piece : pieces_) piece.steps += piece.rate > 0;
}

void GapPenalty::Divide(size_t piece, size_t first, size_t count, const float* now,
                        const float* then, float* gradient) const {
  const Piece& by = pieces_[piece];
  if (by.steps == 0) return;  // Nothing has moved.
  // The mean began as 0 (as in Adam).
  const auto whole = static_cast<float>(1 / (1 - std::pow(kFade, by.steps)));
  const auto rate = static_cast<float>(by.largest);
  const float* const squares = squares_.data() + first;
  for (size_t i = 0; i < count; ++i) {
    const float step = rate * (std::sqrt(squares[i] * whole) + kLeastStep);
    gradient[i] /= 1 + std::abs(now[i] - then[i]) / step;
  }
}

void GapPenalty::Measure(size_t piece, size_t first, size_t count, const float* before,
                         const float* after) {
  if (!(pieces_[piece].rate > 0)) return;
  const auto per_rate = static_cast<float>(1 / pieces_[piece].rate);
  float* const squares = squares_.data() + first;
  for (size_t i = 0; i < count; ++i) {
    const float step = (after[i] - before[i]) * per_rate;
    squares[i] =
        static_cast<float>(kFade) * squares[i] + static_cast<float>(1 - kFade) * step * step;
  }
}

}  // namespace motley
