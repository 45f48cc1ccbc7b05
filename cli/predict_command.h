// SPDX-License-Identifier: Apache-2.0
// `motley predict`: how well a saved model does on labelled samples.
#pragma once

#include <string>

namespace motley {

struct PredictFlags {
  std::string model;
  std::string data;
  std::string label;
  bool json = false;
};

// The exit code.
int RunPredict(const PredictFlags& flags);

}  // namespace motley
