// SPDX-License-Identifier: Apache-2.0
// From a model's name and data to its layers and loss: the list of built-in models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "devices/kernels.h"
#include "training/models/model.h"

namespace motley {

// What one layer does with each row; sizes are numbers of values.
struct LayerPlan {
  enum class Kind {
    kDense,       // inputs * weight + bias.
    kConvolution  // With a window of 3 x 3 over an image, channels last; then 2 x 2 max pooling.
  };
  Kind kind = Kind::kDense;
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  bool norm = false;        // Layer normalisation behind it; kDense only.
  motley_window window{};   // Of kConvolution, which makes `channels` of these pixels,
  uint32_t channels = 0;    //
  motley_window pooling{};  // and how they are pooled.
};

struct Architecture {
  std::vector<LayerPlan> layers;  // With a ReLU between each two; none: a factorisation machine
  uint32_t factors = 0;           // with so many factors.
  uint32_t outputs = 0;
  Loss loss = Loss::kSquared;
};

// kInvalidArgument: unknown name, a model that does not fit the data, more parameters than
// kMaxParameters.
Result<Architecture> PlanModel(const ModelSpec& spec);

// 16 GiB of parameters; more is taken for a mistake.
inline constexpr uint64_t kMaxParameters = uint64_t{1} << 32;
// Of one sample, anywhere between two layers.
inline constexpr uint64_t kMaxValues = uint64_t{1} << 30;

// The word before ':' or '@' of every model.
const std::vector<std::string>& ModelWords();
std::string_view WordOf(std::string_view model);

// "mlp:64 of 8 features and 3 classes", for messages.
std::string DescribeSpec(const ModelSpec& spec);

}  // namespace motley
