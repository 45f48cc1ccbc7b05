// SPDX-License-Identifier: Apache-2.0
#include "training/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "training/architecture.h"
#include "training/layer.h"

namespace motley {
namespace {

void Grow(std::vector<float>& values, size_t size) {
  if (values.size() < size) values.resize(size);
}

// Layers with a ReLU between each two, and a loss.
class LayeredModel final : public Model {
 public:
  LayeredModel(const ModelSpec& spec, const Architecture& plan)
      : spec_(spec), loss_(plan.loss), outputs_(plan.outputs) {
    uint32_t inputs = spec.features;
    for (const uint32_t width : plan.hidden) {
      AddLayer(inputs, width);
      inputs = width;
    }
    AddLayer(inputs, plan.outputs);
    activations_.resize(layers_.size());
  }

  const ModelSpec& spec() const override { return spec_; }
  size_t parameter_count() const override { return parameter_count_; }
  const std::vector<ParameterRange>& ranges() const override { return ranges_; }
  uint32_t outputs() const override { return outputs_; }

  void Initialize(uint64_t seed, std::span<float> parameters) const override {
    MOTLEY_ASSERT(parameters.size() == parameter_count_);
    std::fill(parameters.begin(), parameters.end(), 0.0f);
    if (layers_.size() == 1) return;
    for (size_t i = 0; i < layers_.size(); ++i) {
      Random random(seed, Stream::kInitialize, i);
      const double deviation = std::sqrt(2.0 / layers_[i].inputs());
      for (float& weight : parameters.subspan(layers_[i].offset(), layers_[i].weight_count())) {
        weight = static_cast<float>(deviation * random.Normal());
      }
    }
  }

  Status AddGradient(Device& device, std::span<const float> parameters, const Dataset& batch,
                     double weight, std::span<float> gradient, double& loss) override {
    MOTLEY_RETURN_IF_ERROR(Check(parameters, batch));
    if (gradient.size() != parameter_count_ || batch.classes != spec_.classes) {
      return Status::InvalidArgument(fmt::format(
          "{} with {} parameters and {} classes cannot fill a gradient of {} from {} classes",
          spec_.name, parameter_count_, spec_.classes, gradient.size(), batch.classes));
    }
    if (batch.rows() == 0) return Status::Ok();
    float* outputs = RunForward(device, parameters, batch);
    double sum = 0;
    LossGradient(device, batch, outputs, sum);
    loss += weight * sum;
    RunBackward(device, parameters, batch, static_cast<float>(weight), gradient);
    return Status::Ok();
  }

  Status Forward(Device& device, std::span<const float> parameters, const Dataset& batch,
                 std::vector<float>& outputs) override {
    MOTLEY_RETURN_IF_ERROR(Check(parameters, batch));
    outputs.clear();
    if (batch.rows() == 0) return Status::Ok();
    const float* results = RunForward(device, parameters, batch);
    outputs.assign(results, results + batch.rows() * outputs_);
    return Status::Ok();
  }

 private:
  void AddLayer(uint32_t inputs, uint32_t outputs) {
    layers_.emplace_back(fmt::format("layer{}", layers_.size()), inputs, outputs, parameter_count_);
    layers_.back().AppendRanges(ranges_);
    parameter_count_ += layers_.back().parameter_count();
  }

  Status Check(std::span<const float> parameters, const Dataset& batch) const {
    if (parameters.size() == parameter_count_ && batch.features == spec_.features) {
      return Status::Ok();
    }
    return Status::InvalidArgument(
        fmt::format("{} has {} parameters and {} features, not {} and {}", spec_.name,
                    parameter_count_, spec_.features, parameters.size(), batch.features));
  }

  // What enters layer i: the samples, or what the layer before left.
  LayerInput Input(size_t i, const Dataset& batch) const {
    if (i > 0) return {.rows = batch.rows(), .dense = activations_[i - 1].data()};
    if (!batch.sparse) return {.rows = batch.rows(), .dense = batch.dense.data()};
    return {.rows = batch.rows(),
            .sparse = {.rows = batch.rows(),
                       .columns = batch.features,
                       .row_begin = batch.row_begin.data(),
                       .column = batch.column.data(),
                       .value = batch.value.data()}};
  }

  float* RunForward(Device& device, std::span<const float> parameters, const Dataset& batch) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const size_t count = batch.rows() * layers_[i].outputs();
      Grow(activations_[i], count);
      layers_[i].Forward(device, parameters, Input(i, batch), activations_[i].data());
      if (i + 1 < layers_.size()) {
        device.kernels().relu(device.queue(), count, activations_[i].data());
      }
    }
    return activations_.back().data();
  }

  void LossGradient(Device& device, const Dataset& batch, float* outputs, double& sum) const {
    const motley_kernels& kernels = device.kernels();
    void* queue = device.queue();
    const float* label = batch.label.data();
    switch (loss_) {
      case Loss::kSquared: kernels.squared_loss(queue, batch.rows(), label, outputs, &sum); break;
      case Loss::kLogistic: kernels.logistic_loss(queue, batch.rows(), label, outputs, &sum); break;
      case Loss::kSoftmax:
        kernels.softmax_cross_entropy(queue, batch.rows(), outputs_, label, outputs, &sum);
        break;
    }
  }

  // From the last layer, whose activations now hold d(loss)/d(outputs), to the first.
  void RunBackward(Device& device, std::span<const float> parameters, const Dataset& batch,
                   float weight, std::span<float> gradient) {
    float* delta = activations_.back().data();
    for (size_t i = layers_.size(); i-- > 0;) {
      layers_[i].AddGradient(device, Input(i, batch), delta, weight, gradient);
      if (i == 0) break;
      const size_t count = batch.rows() * layers_[i].inputs();
      std::vector<float>& below = deltas_[i % 2];
      Grow(below, count);
      layers_[i].Backward(device, parameters, batch.rows(), delta, below.data());
      device.kernels().relu_backward(device.queue(), count, activations_[i - 1].data(),
                                     below.data());
      delta = below.data();
    }
  }

  ModelSpec spec_;
  Loss loss_;
  uint32_t outputs_;
  std::vector<Layer> layers_;
  std::vector<ParameterRange> ranges_;
  size_t parameter_count_ = 0;
  // Workspace, kept between calls.
  std::vector<std::vector<float>> activations_;  // Per layer, after its ReLU.
  std::vector<float> deltas_[2];
};

}  // namespace

Result<std::unique_ptr<Model>> Model::Create(const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const Architecture plan, PlanModel(spec));
  return std::unique_ptr<Model>(std::make_unique<LayeredModel>(spec, plan));
}

}  // namespace motley
