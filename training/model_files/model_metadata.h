// SPDX-License-Identifier: Apache-2.0
// What SaveModel noted about a model in the metadata of its file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/models/model.h"

namespace motley {

// The model's name, where SaveModel wrote PyTorch's tensors: "model" would promise our own.
inline constexpr const char* kTorchModel = "motley_model";

// What SaveModel noted about the model, in either format; kDataError when it is missing or not from
// motley.
Result<ModelSpec> SpecFromMetadata(const std::map<std::string, std::string>& metadata);
// Finite and > 0.
Result<float> InputScaleFromMetadata(const std::map<std::string, std::string>& metadata);
Result<std::vector<double>> ClassLabelsFromMetadata(
    const std::map<std::string, std::string>& metadata);

}  // namespace motley
