// SPDX-License-Identifier: Apache-2.0
// From a model's name and data to its layers and loss: the list of built-in models.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "training/model.h"

namespace motley {

enum class Loss { kSquared, kLogistic, kSoftmax };

struct Architecture {
  std::vector<uint32_t> hidden;  // Widths of the layers between, each followed by a ReLU.
  uint32_t outputs = 0;
  Loss loss = Loss::kSquared;
};

// kInvalidArgument: unknown name, a model that does not fit the data, more parameters than
// kMaxParameters.
Result<Architecture> PlanModel(const ModelSpec& spec);

// 16 GiB of parameters; more is taken for a mistake.
inline constexpr uint64_t kMaxParameters = uint64_t{1} << 32;

}  // namespace motley
