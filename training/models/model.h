// SPDX-License-Identifier: Apache-2.0
// The built-in models, written once over device kernels: a list of layers that own contiguous
// ranges of one parameter vector (a pipeline will cut there), and a loss.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "training/models/device_memory.h"
#include "training/models/row_weights.h"

namespace motley {

// What a model is, and the shape of its data. Names: "softmax", "logistic", "hinge" (a linear
// support vector machine), "linear", "mlp:256,norm,128" (hidden layers; norm: layer normalisation
// before the activation), "cnn:16,32/128" (convolutions of 3 x 3, each with a ReLU and pooling of
// 2 x 2, then hidden layers; "cnn@28x28x1:16,32" where images are not square),
// "factorization:16" (a factorisation machine).
struct ModelSpec {
  std::string name;
  uint32_t features = 0;
  uint32_t classes = 0;  // 0: regression (linear, mlp, cnn, factorization).
  // In training a sample weighs as much as its class: its loss and gradient are multiplied, and an
  // update divides by the sum of weights. Finite, at least 0; empty: all weigh 1.
  std::vector<float> class_weights = {};
  // In training each unit of a hidden layer (after its ReLU) is 0 with this chance, in [0, 1), and
  // else divided by 1 - dropout (Srivastava et al. 2014); mlp and cnn only.
  double dropout = 0;
};

// Whose gradient a batch is. What is dropped of a row follows from this, the layer and the unit
// alone, whoever computes it and beside which other rows.
struct BatchOrigin {
  uint64_t seed = 0;
  StepId step = 0;
  std::span<const uint32_t> samples = {};  // Numbers in the data set, by row; empty: 0, 1, 2, ...
};

// What samples with these labels weigh together in training.
double WeightOf(const ModelSpec& spec, std::span<const float> labels);

enum class Loss { kSquared, kLogistic, kHinge, kSoftmax };

// A named range of the parameter vector, row-major: "layer0.weight" [inputs, outputs] (so that a
// sparse sample reads and changes whole rows; outputs = input * weight + bias), "layer0.bias".
struct ParameterRange {
  std::string name;
  std::vector<uint32_t> shape;
  size_t offset = 0;
  size_t count = 0;
};

// Told how far a model is in its parameters, so that copies of some run beside computing with
// others.
class ParameterTurns {
 public:
  virtual ~ParameterTurns() = default;
  // Kernels that read parameters [begin, end) are about to be called; ranges come in order.
  virtual Status BeforeReading(size_t begin, size_t end) = 0;
  // All kernels of a batch that change gradient [begin, end) were called; in any order.
  virtual void AfterAdding(size_t begin, size_t end) = 0;
};

class Model {
 public:
  // kInvalidArgument for an unknown name or one that does not fit the data (logistic needs 2
  // classes, linear none, cnn images); says what would.
  static Result<std::unique_ptr<Model>> Create(const ModelSpec& spec);
  virtual ~Model() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual size_t parameter_count() const = 0;
  virtual const std::vector<ParameterRange>& ranges() const = 0;
  // What has no hidden layer starts at 0; else weights are drawn from N(0, 2 / inputs) (He et al.
  // 2015), factors of a factorisation machine from N(0, 0.01).
  virtual void Initialize(uint64_t seed, std::span<float> parameters) const = 0;

  // On the thread of the workspace's device, whose memory all pointers are in; `parameters` and
  // `gradient` have parameter_count() floats, the batch has rows and is of the model's shape. Adds
  // the sum over the samples of weight * loss gradient to `gradient`, in one pass whatever the
  // weights are, and the sum of losses of the rows of weights[i] to losses[i]; both are those of
  // the batch's class weights. `weights` are real
  // unless takes_complex_weights(). `turns` is told of all parameters. kResource: the device has
  // not enough memory.
  virtual Status AddGradient(DeviceMemory& workspace, const float* parameters,
                             const DeviceBatch& batch, RowWeights weights, float* gradient,
                             double* losses, ParameterTurns& turns) const = 0;
  // Whether both coordinates of each pair of a vector belong to neighbouring outputs of a layer.
  bool takes_complex_weights() const;
  // The same rules, all parameters being there. Where in the workspace the outputs are: for each
  // row class scores [rows, classes], or one value (logistic, hinge: the score of class 1; of real
  // numbers: the prediction).
  virtual Result<const Buffer*> Forward(DeviceMemory& workspace, const float* parameters,
                                        const DeviceBatch& batch) const = 0;
  virtual uint32_t outputs() const = 0;
  virtual Loss loss() const = 0;
  // Whether batches may be sparse. (A ModelSession makes them dense where they may not.)
  virtual bool takes_sparse() const = 0;
  // Of one sample with so many values that are not 0, forwards; what depends on the parameters
  // alone is left out.
  virtual double multiply_adds(double entries) const = 0;

  // One sum, one pass of a ModelSession (model_session.h) made for it, from and to the host's
  // memory; adds weight * (sum of losses) to `loss`. Whoever does more of them keeps a session.
  Status AddGradient(Device& device, std::span<const float> parameters, const Dataset& batch,
                     double weight, std::span<float> gradient, double& loss,
                     const BatchOrigin& origin = {}) const;
  Status Forward(Device& device, std::span<const float> parameters, const Dataset& batch,
                 std::vector<float>& outputs) const;
};

}  // namespace motley
