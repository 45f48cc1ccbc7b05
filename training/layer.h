// SPDX-License-Identifier: Apache-2.0
// The fully connected layer: outputs = inputs * weight + bias, over device kernels. It owns a range
// of the parameter vector: weight [inputs, outputs], then bias [outputs].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/device.h"
#include "training/model.h"

namespace motley {

// Rows that enter a layer: dense [rows, inputs], or sparse when `dense` is null.
struct LayerInput {
  size_t rows = 0;
  const float* dense = nullptr;
  motley_csr sparse{};
};

class Layer {
 public:
  Layer(std::string name, uint32_t inputs, uint32_t outputs, size_t offset);

  uint32_t inputs() const { return inputs_; }
  uint32_t outputs() const { return outputs_; }
  size_t offset() const { return offset_; }
  size_t weight_count() const { return size_t{inputs_} * outputs_; }
  size_t parameter_count() const { return weight_count() + outputs_; }
  void AppendRanges(std::vector<ParameterRange>& ranges) const;

  // On the device's thread, all in its memory. `parameters` and `gradient` are the whole model's.
  // out [rows, outputs].
  void Forward(Device& device, const float* parameters, const LayerInput& input, float* out) const;
  // gradient += weight * d(loss)/d(parameters), where delta [rows, outputs] = d(loss)/d(out).
  void AddGradient(Device& device, const LayerInput& input, const float* delta, float weight,
                   float* gradient) const;
  // input_delta [rows, inputs] = d(loss)/d(input).
  void Backward(Device& device, const float* parameters, size_t rows, const float* delta,
                float* input_delta) const;

 private:
  std::string name_;
  uint32_t inputs_;
  uint32_t outputs_;
  size_t offset_;
};

}  // namespace motley
