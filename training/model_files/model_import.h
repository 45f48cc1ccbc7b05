// SPDX-License-Identifier: Apache-2.0
// Imports models from PyTorch: built-in models with the names and layout of PyTorch's tensors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/formats/safetensors_header.h"
#include "training/model_files/safetensors.h"

namespace motley {

// True if another program saved the file, with layers that might be imported.
bool IsForeignModel(const SafetensorsHeader& header);

// The model that the tensors imply: its name ("mlp:64", "cnn:16/32") and the outputs of its last
// layer. The name is empty for one layer with one output, which may be linear, logistic or hinge.
// kDataError as for ImportModel.
struct TorchShape {
  std::string name;
  uint64_t outputs = 0;
};
Result<TorchShape> ShapeOf(const SafetensorsHeader& header);

// The parameters of `spec` from the file's tensors (torch_tensors.h), which may have any names.
// Their order is that of the numbers in the names ("0", "2", "10", or "fc1", "fc2"). Types: F32,
// F64, F16 or BF16. kDataError names the first tensor of another shape or with a value that is not
// finite.
Result<std::vector<float>> ImportParameters(const SafetensorsHeader& header, std::string_view data,
                                            const ModelSpec& spec);

// Imports a softmax regression, or a perceptron with ReLU between its layers and a softmax after
// the last. Classes are 0, 1, ..., and features are not scaled. kDataError for anything else, with
// a list of what can be imported.
Result<SavedModel> ImportModel(const SafetensorsHeader& header, std::string_view data);

}  // namespace motley
