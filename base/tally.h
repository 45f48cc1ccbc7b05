// SPDX-License-Identifier: Apache-2.0
// The loss and the weight that go with a sum of gradients; the update is divided by the weight.
// Both are coded with the coefficients of the gradient's first part, but in double precision and as
// numbers of their own. So a loss of any size changes no bit of a parameter or of the weight.
#pragma once

#include <complex>

namespace motley {

struct Tally {
  std::complex<double> loss;  // Sum over the samples.
  std::complex<double>
      weight;  // Sum over the samples; a sample weighs 1 unless the trainer says otherwise.

  // Adds coefficient * other.
  void Add(std::complex<double> coefficient, const Tally& other) {
    loss += coefficient * other.loss;
    weight += coefficient * other.weight;
  }
  friend bool operator==(const Tally&, const Tally&) = default;
};

}  // namespace motley
