// SPDX-License-Identifier: Apache-2.0
// What stands behind the word of a model: the "256,norm,128" of mlp:256,norm,128, the "@28x28x1"
// and "16,32/128" of cnn@28x28x1:16,32/128.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

struct LayerWord {
  uint32_t width = 0;
  bool norm = false;  // Layer normalisation behind it.
};

struct CnnWords {
  // Of the images, 0 when it is not said.
  uint32_t height = 0, width = 0, channels = 0;
  std::vector<LayerWord> convolutions;  // Their channels.
  std::vector<LayerWord> dense;
};

// kInvalidArgument for what is not of that form, which the error shows. `name` is the whole model.
Result<std::vector<LayerWord>> ParseMlp(std::string_view name);
Result<CnnWords> ParseCnn(std::string_view name);
// K of "factorization:K".
Result<uint32_t> ParseFactors(std::string_view name);

}  // namespace motley
