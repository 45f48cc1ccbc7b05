// SPDX-License-Identifier: Apache-2.0
// The list of built-in models: from a model's name and data to its layers and loss.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "devices/kernels.h"
#include "training/models/model.h"

namespace motley {

// One layer. Sizes are numbers of values per row.
struct LayerPlan {
  enum class Kind {
    kDense,       // inputs * weight + bias.
    kConvolution  // A 3 x 3 window over an image, channels last; then 2 x 2 max pooling.
  };
  Kind kind = Kind::kDense;
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  bool norm = false;        // Layer normalisation after it; kDense only.
  motley_window window{};   // kConvolution only: its window.
  uint32_t channels = 0;    // kConvolution only: channels that it produces.
  motley_window pooling{};  // kConvolution only: its pooling.
};

struct Architecture {
  // A ReLU follows each but the last. Empty: a factorisation machine.
  std::vector<LayerPlan> layers;
  uint32_t factors = 0;  // Factors of a factorisation machine.
  uint32_t outputs = 0;
  Loss loss = Loss::kSquared;
};

// Plans a model. kInvalidArgument: an unknown name, a model that does not fit the data, or more
// parameters than kMaxParameters.
Result<Architecture> PlanModel(const ModelSpec& spec);

// 16 GiB of parameters; a larger model is taken for a mistake.
inline constexpr uint64_t kMaxParameters = uint64_t{1} << 32;
// Most values of one sample between two layers.
inline constexpr uint64_t kMaxValues = uint64_t{1} << 30;

// The words before ':' or '@' of all model names.
const std::vector<std::string>& ModelWords();
std::string_view WordOf(std::string_view model);

// A text like "mlp:64 of 8 features and 3 classes", for messages.
std::string DescribeSpec(const ModelSpec& spec);

}  // namespace motley
