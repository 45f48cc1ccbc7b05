// SPDX-License-Identifier: Apache-2.0
// The layers of models, over device kernels. Each owns a range of the parameter vector; "rows" are
// samples.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "devices/device.h"
#include "training/models/architecture.h"
#include "training/models/device_memory.h"
#include "training/models/model.h"
#include "training/models/row_weights.h"

namespace motley {

// Rows that enter a layer: dense [rows, inputs], or sparse when `dense` is null.
struct LayerInput {
  size_t rows = 0;
  const float* dense = nullptr;
  motley_csr sparse{};
};

// A layer's pieces of a workspace: its own, whose content lasts from Forward to Backward, and those
// that all layers share.
class LayerRoom {
 public:
  static constexpr size_t kOwn = 2, kShared = 2;

  LayerRoom(DeviceMemory& memory, size_t first_own, size_t first_shared)
      : memory_(memory), own_(first_own), shared_(first_shared) {}
  Device& device() const { return memory_.device(); }
  // kResource when the device has not so much.
  Result<float*> Own(size_t which, size_t count) const {
    return memory_.Floats(own_ + which, count);
  }
  Result<float*> Shared(size_t which, size_t count) const {
    return memory_.Floats(shared_ + which, count);
  }

 private:
  DeviceMemory& memory_;
  size_t own_;
  size_t shared_;
};

// What gradients are multiplied by as they are added: one number, and `rows` unless it is empty.
// Complex weights come last of all because what goes back to the layers before must stay real.
struct LayerWeight {
  float all = 1;
  RowWeights rows = {};
};

class Layer {
 public:
  virtual ~Layer() = default;

  // Values of a row.
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  // The most values of a row that it keeps or computes at a time.
  virtual size_t most_values() const = 0;
  virtual size_t parameter_count() const = 0;
  // Of a row with so many values that are not 0, forwards.
  virtual double multiply_adds(double entries) const = 0;
  virtual void AppendRanges(std::vector<ParameterRange>& ranges) const = 0;
  // Weights from N(0, 2 / inputs of an output) (He et al. 2015), in the order of `random`; what has
  // another start than 0 gets it. `parameters` are the whole model's, 0 at first.
  virtual void Initialize(Random& random, std::span<float> parameters) const = 0;

  // On the device's thread, all in its memory. `parameters` and `gradient` are the whole model's.
  // out [rows, outputs].
  virtual Status Forward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                         float* out) const = 0;
  // After Forward of the same rows: gradient += weight * d(loss)/d(parameters), where delta [rows,
  // outputs] = d(loss)/d(out), and input_delta [rows, inputs] = d(loss)/d(input) unless it is null.
  // What is in delta is lost.
  virtual Status Backward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                          float* delta, const LayerWeight& weight, float* gradient,
                          float* input_delta) const = 0;
};

// `offset`: of its first parameter in the vector.
std::unique_ptr<Layer> MakeDenseLayer(const LayerPlan& plan, std::string name, size_t offset);
std::unique_ptr<Layer> MakeConvolution(const LayerPlan& plan, std::string name, size_t offset);

// Fills a weight, as Layer::Initialize says.
void DrawWeights(Random& random, double inputs, std::span<float> weights);

}  // namespace motley
