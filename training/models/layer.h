// SPDX-License-Identifier: Apache-2.0
// The layers of models, over device kernels. Each layer owns a range of the parameter vector;
// "rows" are samples.
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

// Input rows of a layer: dense [rows, inputs], or sparse if `dense` is null.
struct LayerInput {
  size_t rows = 0;
  const float* dense = nullptr;
  motley_csr sparse{};
};

// The workspace of a layer: buffers of its own, whose content lasts from Forward to Backward, and
// buffers that all layers share.
class LayerRoom {
 public:
  static constexpr size_t kOwn = 2, kShared = 2;

  LayerRoom(DeviceMemory& memory, size_t first_own, size_t first_shared)
      : memory_(memory), own_(first_own), shared_(first_shared) {}
  Device& device() const { return memory_.device(); }
  // kResource: the device is out of memory.
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

// Factor of gradients as they are added: one number and, unless empty, one per row in `rows`.
// Complex weights are applied last, because what goes back to earlier layers must stay real.
struct LayerWeight {
  float all = 1;
  RowWeights rows = {};
};

class Layer {
 public:
  virtual ~Layer() = default;

  // Values of a row that enters.
  virtual size_t inputs() const = 0;
  virtual size_t outputs() const = 0;
  // Most values of a row that the layer keeps or computes at a time.
  virtual size_t most_values() const = 0;
  virtual size_t parameter_count() const = 0;
  // Multiply-adds of a forward pass over a row with `entries` values that are not 0.
  virtual double multiply_adds(double entries) const = 0;
  virtual void AppendRanges(std::vector<ParameterRange>& ranges) const = 0;
  // Draws weights from N(0, 2 / inputs of an output) (He et al. 2015), in the order of `random`,
  // and sets other values that do not start at 0. `parameters` are the whole model's, 0 at first.
  virtual void Initialize(Random& random, std::span<float> parameters) const = 0;

  // Called on the device's thread; all pointers are in its memory. `parameters` and `gradient` are
  // the whole model's. out is [rows, outputs].
  virtual Status Forward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                         float* out) const = 0;
  // Called after Forward of the same rows. Adds weight * d(loss)/d(parameters) to `gradient`, for
  // delta [rows, outputs] = d(loss)/d(out). Sets input_delta [rows, inputs] = d(loss)/d(input)
  // unless it is null. Overwrites delta.
  virtual Status Backward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                          float* delta, const LayerWeight& weight, float* gradient,
                          float* input_delta) const = 0;
};

// `offset` is the position of the layer's first parameter in the vector.
std::unique_ptr<Layer> MakeDenseLayer(const LayerPlan& plan, std::string name, size_t offset);
std::unique_ptr<Layer> MakeConvolution(const LayerPlan& plan, std::string name, size_t offset);

// Draws one weight matrix as Layer::Initialize says.
void DrawWeights(Random& random, double inputs, std::span<float> weights);

}  // namespace motley
