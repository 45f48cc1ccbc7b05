// SPDX-License-Identifier: Apache-2.0
// A model's parameters with PyTorch's names, shapes and order: the state_dict() of torch.nn modules
// that compute the same. docs/how-to/pytorch.md lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/models/model.h"

namespace motley {

// Example: layer0.weight [3 inputs, 2 outputs] of a softmax is "weight" [2, 3] in PyTorch. A step
// along its outputs is 1 value in our vector, and a step along its inputs is 2.
struct TorchTensor {
  std::string name;             // "2.weight"
  std::vector<uint64_t> shape;  // Linear: [outputs, inputs]; Conv2d: [outputs, inputs, 3, 3].
  size_t offset = 0;            // Offset of its first value in our vector.
  // The order of PyTorch's values as four nested loops: number of steps, and stride in our vector.
  std::array<uint64_t, 4> steps{1, 1, 1, 1};
  std::array<uint64_t, 4> strides{};

  uint64_t count() const { return steps[0] * steps[1] * steps[2] * steps[3]; }
};

// Tensors in the order of layers, each weight before its bias. kInvalidArgument: a factorisation
// machine, or as for PlanModel.
Result<std::vector<TorchTensor>> TorchTensors(const ModelSpec& spec);

// Copies the tensor from `ours`, the whole parameter vector, to `theirs`, its values in PyTorch's
// order.
void ToTorch(const TorchTensor& tensor, std::span<const float> ours, std::span<float> theirs);
void FromTorch(const TorchTensor& tensor, std::span<const float> theirs, std::span<float> ours);

}  // namespace motley
