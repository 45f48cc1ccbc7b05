// SPDX-License-Identifier: Apache-2.0
// Reads what SaveModel recorded about a model in the metadata of its file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/models/model.h"

namespace motley {

// Metadata key of the model's name in a file with PyTorch's tensors. The key "model" would promise
// our own layout.
inline constexpr const char* kTorchModel = "motley_model";

// The recorded model, from either format. kDataError: there is none, or motley did not write it.
Result<ModelSpec> SpecFromMetadata(const std::map<std::string, std::string>& metadata);
// The recorded scale; it is finite and above 0.
Result<float> InputScaleFromMetadata(const std::map<std::string, std::string>& metadata);
Result<std::vector<double>> ClassLabelsFromMetadata(
    const std::map<std::string, std::string>& metadata);

}  // namespace motley
