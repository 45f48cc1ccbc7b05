// SPDX-License-Identifier: Apache-2.0
#include "training/layer.h"

#include <utility>

namespace motley {

Layer::Layer(std::string name, uint32_t inputs, uint32_t outputs, size_t offset)
    : name_(std::move(name)), inputs_(inputs), outputs_(outputs), offset_(offset) {}

void Layer::AppendRanges(std::vector<ParameterRange>& ranges) const {
  ranges.push_back({name_ + ".weight", {inputs_, outputs_}, offset_, weight_count()});
  ranges.push_back({name_ + ".bias", {outputs_}, offset_ + weight_count(), outputs_});
}

void Layer::Forward(Device& device, const float* parameters, const LayerInput& input,
                    float* out) const {
  const motley_kernels& kernels = device.kernels();
  void* queue = device.queue();
  const float* weight = parameters + offset_;
  if (input.dense != nullptr) {
    kernels.gemm(queue, 0, 0, input.rows, outputs_, inputs_, 1, input.dense, weight, 0, out);
  } else {
    kernels.csr_times_dense(queue, &input.sparse, outputs_, 1, weight, 0, out);
  }
  kernels.add_bias(queue, input.rows, outputs_, weight + weight_count(), out);
}

void Layer::AddGradient(Device& device, const LayerInput& input, const float* delta, float weight,
                        float* gradient) const {
  const motley_kernels& kernels = device.kernels();
  void* queue = device.queue();
  float* sum = gradient + offset_;
  if (input.dense != nullptr) {
    kernels.gemm(queue, 1, 0, inputs_, outputs_, input.rows, weight, input.dense, delta, 1, sum);
  } else {
    kernels.csr_transposed_times_dense(queue, &input.sparse, outputs_, weight, delta, sum);
  }
  kernels.add_column_sums(queue, input.rows, outputs_, weight, delta, sum + weight_count());
}

void Layer::Backward(Device& device, const float* parameters, size_t rows, const float* delta,
                     float* input_delta) const {
  device.kernels().gemm(device.queue(), 0, 1, rows, inputs_, outputs_, 1, delta,
                        parameters + offset_, 0, input_delta);
}

}  // namespace motley
