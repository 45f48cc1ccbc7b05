// SPDX-License-Identifier: Apache-2.0
// Models that others trained: the tensors of built-in models as PyTorch names and lays them out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/formats/safetensors_header.h"
#include "training/model_files/safetensors.h"

namespace motley {

// Whether the file was saved by others, with layers that might be imported.
bool IsForeignModel(const SafetensorsHeader& header);

// What its tensors say of it: the model's name ("mlp:64", "cnn:16/32"; empty: one layer of one
// output, which is linear, logistic or hinge), and how many outputs its last layer has.
// kDataError: as ImportModel.
struct TorchShape {
  std::string name;
  uint64_t outputs = 0;
};
Result<TorchShape> ShapeOf(const SafetensorsHeader& header);

// The parameters of `spec`, whose tensors (torch_tensors.h) the file has under whatever names, in
// the order of the numbers in these ("0", "2", "10", or "fc1", "fc2"); F32, F64, F16 or BF16.
// kDataError names the first tensor of another shape, or with a value that is not finite.
Result<std::vector<float>> ImportParameters(const SafetensorsHeader& header, std::string_view data,
                                            const ModelSpec& spec);

// A softmax regression or a perceptron, with ReLU between its layers and a softmax behind the last.
// Classes are 0, 1, ... and features come unscaled. kDataError: anything else, and what would be
// understood.
Result<SavedModel> ImportModel(const SafetensorsHeader& header, std::string_view data);

}  // namespace motley
