// SPDX-License-Identifier: Apache-2.0
#include "training/model_files/torch_tensors.h"

#include <fmt/format.h>

#include <utility>

#include "training/models/architecture.h"

namespace motley {
namespace {

// Numbers modules like nn.Sequential, and places their tensors one after the other.
class Sequence {
 public:
  explicit Sequence(bool alone) : alone_(alone) {}

  // Adds a convolution with its ReLU and MaxPool2d.
  void AddConvolution(const LayerPlan& plan) {
    const motley_window& window = plan.window;
    const uint64_t out = plan.channels, in = window.channels;
    const uint64_t height = window.kernel_height, width = window.kernel_width;
    Add("weight", {out, in, height, width}, {out, in, height, width},
        {1, out, width * in * out, in * out});
    AddVector("bias", out);
    module_ += 3;
  }
  // Adds the Flatten before the first dense layer after convolutions; PyTorch has channels first.
  void AddFlatten() { ++module_; }
  void AddDense(const LayerPlan& plan, const LayerPlan* image, bool last) {
    const uint64_t out = plan.outputs, in = plan.inputs;
    if (image != nullptr) {
      const uint64_t channels = image->channels;
      const uint64_t height = image->pooling.out_height, width = image->pooling.out_width;
      Add("weight", {out, in}, {out, channels, height, width},
          {1, out, width * channels * out, channels * out});
    } else {
      Add("weight", {out, in}, {out, in, 1, 1}, {1, out, 0, 0});
    }
    AddVector("bias", out);
    ++module_;
    if (plan.norm) {
      AddVector("weight", out);
      AddVector("bias", out);
      ++module_;
    }
    if (!last) ++module_;  // The ReLU.
  }
  std::vector<TorchTensor> Take() && { return std::move(tensors_); }

 private:
  void AddVector(const char* name, uint64_t count) {
    Add(name, {count}, {count, 1, 1, 1}, {1, 0, 0, 0});
  }
  void Add(const char* name, std::vector<uint64_t> shape, std::array<uint64_t, 4> steps,
           std::array<uint64_t, 4> strides) {
    TorchTensor& tensor = tensors_.emplace_back();
    tensor.name = alone_ ? name : fmt::format("{}.{}", module_, name);
    tensor.shape = std::move(shape);
    tensor.offset = offset_;
    tensor.steps = steps;
    tensor.strides = strides;
    offset_ += tensor.count();
  }

  const bool alone_;  // A single nn.Linear without nn.Sequential.
  uint32_t module_ = 0;
  size_t offset_ = 0;
  std::vector<TorchTensor> tensors_;
};

// Calls visit(index in PyTorch's values, index of the same value in ours).
template <typename Visit>
void Walk(const TorchTensor& tensor, const Visit& visit) {
  const auto& [a, b, c, d] = tensor.steps;
  const auto& [p, q, r, s] = tensor.strides;
  size_t theirs = 0;
  for (uint64_t i = 0; i < a; ++i) {
    for (uint64_t j = 0; j < b; ++j) {
      for (uint64_t k = 0; k < c; ++k) {
        for (uint64_t l = 0; l < d; ++l) {
          visit(theirs++, tensor.offset + i * p + j * q + k * r + l * s);
        }
      }
    }
  }
}

}  // namespace

Result<std::vector<TorchTensor>> TorchTensors(const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const Architecture plan, PlanModel(spec));
  if (plan.layers.empty()) {
    return Status::InvalidArgument(fmt::format(
        "{} has layers that PyTorch does not have. Save it in the format motley", spec.name));
  }
  Sequence sequence(plan.layers.size() == 1);
  const LayerPlan* image = nullptr;
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const LayerPlan& layer = plan.layers[i];
    if (layer.kind == LayerPlan::Kind::kConvolution) {
      sequence.AddConvolution(layer);
      image = &layer;
      continue;
    }
    if (image != nullptr) sequence.AddFlatten();
    sequence.AddDense(layer, std::exchange(image, nullptr), i + 1 == plan.layers.size());
  }
  return std::move(sequence).Take();
}

void ToTorch(const TorchTensor& tensor, std::span<const float> ours, std::span<float> theirs) {
  MOTLEY_ASSERT(theirs.size() == tensor.count());
  Walk(tensor, [&](size_t to, size_t from) { theirs[to] = ours[from]; });
}

void FromTorch(const TorchTensor& tensor, std::span<const float> theirs, std::span<float> ours) {
  MOTLEY_ASSERT(theirs.size() == tensor.count());
  Walk(tensor, [&](size_t from, size_t to) { ours[to] = theirs[from]; });
}

}  // namespace motley
