// SPDX-License-Identifier: Apache-2.0
// The built-in models over device kernels. A model is a list of layers, which own contiguous ranges
// of one parameter vector, and a loss.
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

// A model's name and the shape of its data. Names: "softmax", "logistic", "hinge" (a linear support
// vector machine), "linear", "mlp:256,norm,128" (hidden layers; norm is layer normalisation before
// the activation), "cnn:16,32/128" (3 x 3 convolutions, each with a ReLU and 2 x 2 pooling, then
// hidden layers; "cnn@28x28x1:16,32" if images are not square), "factorization:16" (a factorisation
// machine).
struct ModelSpec {
  std::string name;
  uint32_t features = 0;
  uint32_t classes = 0;  // 0: regression (linear, mlp, cnn, factorization).
  // Weight of a sample in training, by its class. It multiplies loss and gradient, and an update
  // divides by the sum of weights. Finite, at least 0; empty: all weigh 1.
  std::vector<float> class_weights = {};
  // Probability, in [0, 1), that training sets a unit of a hidden layer to 0 after its ReLU; other
  // units are divided by 1 - dropout (Srivastava et al. 2014). mlp and cnn only.
  double dropout = 0;
};

// Identifies a batch. The units that are dropped in a row depend only on this, the layer and the
// unit, and not on which worker computes the row with which others.
struct BatchOrigin {
  uint64_t seed = 0;
  StepId step = 0;
  // Number in the data set of each row; empty: 0, 1, 2, ...
  std::span<const uint32_t> samples = {};
};

// Total weight in training of samples with these labels.
double WeightOf(const ModelSpec& spec, std::span<const float> labels);

enum class Loss { kSquared, kLogistic, kHinge, kSoftmax };

// A named range of the parameter vector, row-major: "layer0.bias", or "layer0.weight" [inputs,
// outputs], where outputs = input * weight + bias. In this layout a sparse sample reads and changes
// whole rows.
struct ParameterRange {
  std::string name;
  std::vector<uint32_t> shape;
  size_t offset = 0;
  size_t count = 0;
};

// Told how far a model is in its parameters, so that copies of some overlap computing with others.
class ParameterTurns {
 public:
  virtual ~ParameterTurns() = default;
  // Called before kernels that read parameters [begin, end); ranges come in order.
  virtual Status BeforeReading(size_t begin, size_t end) = 0;
  // Called after all kernels of a batch that change gradient [begin, end); ranges come in any
  // order.
  virtual void AfterAdding(size_t begin, size_t end) = 0;
};

class Model {
 public:
  // kInvalidArgument: an unknown name, or a model that does not fit the data (logistic needs 2
  // classes, linear none, cnn images). The message says what would fit.
  static Result<std::unique_ptr<Model>> Create(const ModelSpec& spec);
  virtual ~Model() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual size_t parameter_count() const = 0;
  virtual const std::vector<ParameterRange>& ranges() const = 0;
  // Models without hidden layers start at 0. Other weights are drawn from N(0, 2 / inputs) (He et
  // al. 2015), and factors of a factorisation machine from N(0, 0.01).
  virtual void Initialize(uint64_t seed, std::span<float> parameters) const = 0;

  // Adds the sum over the samples of weight * loss gradient to `gradient` in one pass, and adds the
  // losses of the rows of weights[i] to losses[i]. Both include the batch's class weights.
  // `weights` are real unless takes_complex_weights(). `turns` is called for all parameters.
  //
  // Runs on the thread of the workspace's device, and all pointers are in that device's memory.
  // `parameters` and `gradient` have parameter_count() floats. The batch has rows and is of the
  // model's shape. kResource: the device is out of memory.
  virtual Status AddGradient(DeviceMemory& workspace, const float* parameters,
                             const DeviceBatch& batch, RowWeights weights, float* gradient,
                             double* losses, ParameterTurns& turns) const = 0;
  // True if both coordinates of each pair of a vector belong to adjacent outputs of a layer.
  bool takes_complex_weights() const;
  // Returns the buffer of the workspace with the outputs: for each row class scores [rows,
  // classes], or one value (for logistic and hinge the score of class 1, for regression the
  // prediction). Same rules as for AddGradient; all parameters must be there.
  virtual Result<const Buffer*> Forward(DeviceMemory& workspace, const float* parameters,
                                        const DeviceBatch& batch) const = 0;
  virtual uint32_t outputs() const = 0;
  virtual Loss loss() const = 0;
  // True if batches may be sparse. A ModelSession makes them dense for other models.
  virtual bool takes_sparse() const = 0;
  // Multiply-adds of a forward pass over a sample with `entries` values that are not 0. Work that
  // depends only on the parameters is not counted.
  virtual double multiply_adds(double entries) const = 0;

  // Computes one gradient with a ModelSession (model_session.h) of its own, from and to the host's
  // memory, and adds weight * (sum of losses) to `loss`. Keep a session to compute more than one.
  Status AddGradient(Device& device, std::span<const float> parameters, const Dataset& batch,
                     double weight, std::span<float> gradient, double& loss,
                     const BatchOrigin& origin = {}) const;
  Status Forward(Device& device, std::span<const float> parameters, const Dataset& batch,
                 std::vector<float>& outputs) const;
};

}  // namespace motley
