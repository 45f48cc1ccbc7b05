// SPDX-License-Identifier: Apache-2.0
// `motley predict` computes a saved model's predictions, and scores them if the samples have
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

// Returns the exit code.
int RunPredict(const PredictFlags& flags);

}  // namespace motley
