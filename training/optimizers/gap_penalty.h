// SPDX-License-Identifier: Apache-2.0
// Divides old gradients by the gap of each parameter (Gap-Aware: Barkai, Hakimi, Schuster, ICLR
// 2020, arXiv 1909.10802). The gap is how far the parameter has moved since the gradient was
// computed, in units of its average step:
//
//   a weight moved by 0.3, and its steps are 0.1 on average: its gradient is divided by 1 + 3
//   a weight that did not move keeps its gradient, however many updates were applied
//
// The average step of a parameter is the largest rate so far, times the root mean square of its
// steps per unit of rate. The mean fades by 0.1 % with each update. So a rate that falls later
// makes gaps smaller, as gradients then are better than their age says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace motley {

class GapPenalty {
 public:
  // The parameters are cut into `pieces`, each of which has a rate of its own.
  GapPenalty(size_t count, size_t pieces) : squares_(count), pieces_(pieces) {}

  // An update begins in which the piece has this rate. One thread, before the calls below.
  void Begin(size_t piece, double rate);
  // The update was applied to all parameters.
  void End();

  // Values of a piece, from parameter `first` on: now, when the gradient was computed, and the
  // gradient, which is divided. Any thread, for different parameters.
  void Divide(size_t piece, size_t first, size_t count, const float* now, const float* then,
              float* gradient) const;
  // The update moved them from `before` to `after`.
  void Measure(size_t piece, size_t first, size_t count, const float* before, const float* after);

 private:
  struct Piece {
    double rate = 0;     // That of the update.
    double largest = 0;  // The largest so far.
    uint64_t steps = 0;  // Updates with a rate above 0.
  };

  std::vector<float> squares_;  // Mean squares of steps per unit of rate; they begin as 0.
  std::vector<Piece> pieces_;
};

}  // namespace motley
