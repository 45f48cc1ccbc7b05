// SPDX-License-Identifier: Apache-2.0
// The two forms of a model as a safetensors file. LoadModel reads both.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "training/model_files/safetensors.h"

namespace motley {

enum class ModelFormat {
  kMotley,
  // PyTorch's names, shapes and order (torch_tensors.h) of the model that takes raw columns
  // (raw_columns.h). The metadata have what LoadModel needs besides.
  kTorch
};
// Parses "motley" or "torch"; empty means kMotley. kInvalidArgument otherwise.
Result<ModelFormat> ParseModelFormat(const std::string& name);
// kInvalidArgument if the model has no such form, with advice.
Status CheckFormat(const SavedModel& about, ModelFormat format);

// Like SaveModel in safetensors.h.
Status SaveModel(const std::string& path, const SavedModel& about,
                 std::span<const float> parameters, ModelFormat format);

}  // namespace motley
