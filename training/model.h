// SPDX-License-Identifier: Apache-2.0
// The built-in models, written once over device kernels: a list of layers that own contiguous
// ranges of one parameter vector (a pipeline will cut there), and a loss.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "devices/device.h"
#include "training/data_source.h"

namespace motley {

// What a model is: "softmax", "logistic", "linear", "mlp:256,128", and the shape of its data.
struct ModelSpec {
  std::string name;
  uint32_t features = 0;
  uint32_t classes = 0;  // 0: regression (only linear).
};

// A named range of the parameter vector, row-major: "layer0.weight" [inputs, outputs] (so that a
// sparse sample reads and changes whole rows; outputs = input * weight + bias), "layer0.bias".
struct ParameterRange {
  std::string name;
  std::vector<uint32_t> shape;
  size_t offset = 0;
  size_t count = 0;
};

class Model {
 public:
  // kInvalidArgument for an unknown name or one that does not fit the data (logistic needs 2
  // classes, linear none); says what would.
  static Result<std::unique_ptr<Model>> Create(const ModelSpec& spec);
  virtual ~Model() = default;

  virtual const ModelSpec& spec() const = 0;
  virtual size_t parameter_count() const = 0;
  virtual const std::vector<ParameterRange>& ranges() const = 0;
  // Softmax, logistic and linear start at 0; an MLP draws from N(0, 2 / inputs) (He et al. 2015).
  virtual void Initialize(uint64_t seed, std::span<float> parameters) const = 0;

  // On the device's thread, host-accessible devices. Adds weight * (sum over the samples of the
  // loss gradient) to `gradient`, and weight * (sum of losses) to `loss`. Keeps its workspace for
  // the next call: one thread at a time. kInvalidArgument: sizes or data of another model.
  virtual Status AddGradient(Device& device, std::span<const float> parameters,
                             const Dataset& batch, double weight, std::span<float> gradient,
                             double& loss) = 0;
  // The same rules. Outputs for each row: class scores [rows, classes], or one value (logistic: the
  // score of class 1; linear: the prediction).
  virtual Status Forward(Device& device, std::span<const float> parameters, const Dataset& batch,
                         std::vector<float>& outputs) = 0;
  virtual uint32_t outputs() const = 0;
};

// Mean loss (without L2) and accuracy (classifiers) over a whole data set, in blocks. kCancelled
// when it is unwanted.
struct Evaluation {
  double loss = 0;
  double accuracy = 0;  // 0 for regression.
};
Result<Evaluation> Evaluate(Model& model, Device& device, std::span<const float> parameters,
                            const DataSource& data, const Unwanted& unwanted = nullptr);
Result<Evaluation> Evaluate(Model& model, Device& device, std::span<const float> parameters,
                            const Dataset& data);

}  // namespace motley
