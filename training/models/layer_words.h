// SPDX-License-Identifier: Apache-2.0
// Parses what follows the word of a model: the "256,norm,128" of mlp:256,norm,128, or the
// "@28x28x1" and "16,32/128" of cnn@28x28x1:16,32/128.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

struct LayerWord {
  uint32_t width = 0;
  bool norm = false;  // Layer normalisation after it.
};

struct CnnWords {
  // Size of the images; 0 if not given.
  uint32_t height = 0, width = 0, channels = 0;
  std::vector<LayerWord> convolutions;  // Channels of each.
  std::vector<LayerWord> dense;
};

// Parse a whole model name. kInvalidArgument, which shows the form, for a name of another form.
Result<std::vector<LayerWord>> ParseMlp(std::string_view name);
Result<CnnWords> ParseCnn(std::string_view name);
// Parses the K of "factorization:K".
Result<uint32_t> ParseFactors(std::string_view name);

}  // namespace motley
