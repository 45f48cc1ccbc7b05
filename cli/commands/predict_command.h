// SPDX-License-Identifier: Apache-2.0
// `motley predict`: what a saved model says of samples, and how well it does where they have
// labels.
#pragma once

#include <string>

namespace motley {

struct PredictFlags {
  std::string model;
  std::string data;
  std::string label;
  std::string out;  // "FILE.csv", "FILE.npy", "-"; empty: none.
  bool probabilities = false;
  bool json = false;
};

// The exit code.
int RunPredict(const PredictFlags& flags);

}  // namespace motley
