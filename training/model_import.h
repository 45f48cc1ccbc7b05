// SPDX-License-Identifier: Apache-2.0
// Models that others trained: the tensors of a softmax regression or a perceptron as PyTorch names
// and lays them out.
#pragma once

#include <string_view>

#include "base/status.h"
#include "training/safetensors.h"
#include "training/safetensors_header.h"

namespace motley {

// Whether the file was saved by others, with layers that might be imported.
bool IsForeignModel(const SafetensorsHeader& header);

// Layers "0.weight" [outputs, inputs] and "0.bias" [outputs], in the order of the numbers in their
// names ("0", "2", "10", or "fc1", "fc2"), with ReLU between them and a softmax behind the last;
// F32, F64, F16 or BF16. Classes are 0, 1, ... and features come unscaled. kDataError: anything
// else, and what would be understood.
Result<SavedModel> ImportModel(const SafetensorsHeader& header, std::string_view data);

}  // namespace motley
