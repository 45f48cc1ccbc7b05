// SPDX-License-Identifier: Apache-2.0
// The two forms in which a model is a safetensors file; LoadModel reads both.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "training/model_files/safetensors.h"

namespace motley {

enum class ModelFormat {
  kMotley,
  // PyTorch's names, shapes and order (torch_tensors.h) of the model that takes raw columns
  // (raw_columns.h). The metadata tell LoadModel the rest.
  kTorch
};
// "motley", "torch"; empty: kMotley. kInvalidArgument.
Result<ModelFormat> ParseModelFormat(const std::string& name);
// kInvalidArgument: the model has no such form, and what to do.
Status CheckFormat(const SavedModel& about, ModelFormat format);

// As SaveModel (safetensors.h).
Status SaveModel(const std::string& path, const SavedModel& about,
                 std::span<const float> parameters, ModelFormat format);

}  // namespace motley
