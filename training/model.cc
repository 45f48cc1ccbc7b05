// SPDX-License-Identifier: Apache-2.0
#include "training/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "training/architecture.h"
#include "training/layer.h"
#include "training/model_session.h"

namespace motley {
namespace {

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

  Status AddGradient(DeviceMemory& workspace, const float* parameters, const DeviceBatch& batch,
                     float weight, float* gradient, double* loss) const override {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<float*> outputs,
                            RunForward(workspace, parameters, batch));
    LossGradient(workspace.device(), batch, outputs.back(), loss);
    return RunBackward(workspace, parameters, batch, outputs, weight, gradient);
  }

  Result<const Buffer*> Forward(DeviceMemory& workspace, const float* parameters,
                                const DeviceBatch& batch) const override {
    MOTLEY_RETURN_IF_ERROR(RunForward(workspace, parameters, batch).status());
    const size_t last = layers_.size() - 1;
    MOTLEY_ASSIGN_OR_RETURN(const Buffer* const outputs,
                            workspace.Piece(last, batch.rows * outputs_ * sizeof(float)));
    return outputs;
  }

 private:
  void AddLayer(uint32_t inputs, uint32_t outputs) {
    layers_.emplace_back(fmt::format("layer{}", layers_.size()), inputs, outputs, parameter_count_);
    layers_.back().AppendRanges(ranges_);
    parameter_count_ += layers_.back().parameter_count();
  }

  // What enters layer i: the samples, or what the layer before left.
  static LayerInput Input(size_t i, const DeviceBatch& batch, std::span<float* const> outputs) {
    if (i > 0) return {.rows = batch.rows, .dense = outputs[i - 1]};
    return {.rows = batch.rows, .dense = batch.dense, .sparse = batch.sparse};
  }

  // What each layer left, after its ReLU: pieces 0 to layers - 1 of the workspace.
  Result<std::vector<float*>> RunForward(DeviceMemory& workspace, const float* parameters,
                                         const DeviceBatch& batch) const {
    Device& device = workspace.device();
    std::vector<float*> outputs;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const size_t count = batch.rows * layers_[i].outputs();
      MOTLEY_ASSIGN_OR_RETURN(float* const out, workspace.Floats(i, count));
      layers_[i].Forward(device, parameters, Input(i, batch, outputs), out);
      if (i + 1 < layers_.size()) device.kernels().relu(device.queue(), count, out);
      outputs.push_back(out);
    }
    return outputs;
  }

  void LossGradient(Device& device, const DeviceBatch& batch, float* outputs, double* sum) const {
    const motley_kernels& kernels = device.kernels();
    void* queue = device.queue();
    switch (loss_) {
      case Loss::kSquared:
        kernels.squared_loss(queue, batch.rows, batch.label, outputs, sum);
        break;
      case Loss::kLogistic:
        kernels.logistic_loss(queue, batch.rows, batch.label, outputs, sum);
        break;
      case Loss::kSoftmax:
        kernels.softmax_cross_entropy(queue, batch.rows, outputs_, batch.label, outputs, sum);
        break;
    }
  }

  // From the last layer, whose outputs now hold d(loss)/d(outputs), to the first. The pieces behind
  // the layers' outputs take turns with what goes back.
  Status RunBackward(DeviceMemory& workspace, const float* parameters, const DeviceBatch& batch,
                     std::span<float* const> outputs, float weight, float* gradient) const {
    Device& device = workspace.device();
    const float* delta = outputs.back();
    for (size_t i = layers_.size(); i-- > 0;) {
      layers_[i].AddGradient(device, Input(i, batch, outputs), delta, weight, gradient);
      if (i == 0) break;
      const size_t count = batch.rows * layers_[i].inputs();
      MOTLEY_ASSIGN_OR_RETURN(float* const below, workspace.Floats(layers_.size() + i % 2, count));
      layers_[i].Backward(device, parameters, batch.rows, delta, below);
      device.kernels().relu_backward(device.queue(), count, outputs[i - 1], below);
      delta = below;
    }
    return Status::Ok();
  }

  ModelSpec spec_;
  Loss loss_;
  uint32_t outputs_;
  std::vector<Layer> layers_;
  std::vector<ParameterRange> ranges_;
  size_t parameter_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<Model>> Model::Create(const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const Architecture plan, PlanModel(spec));
  return std::unique_ptr<Model>(std::make_unique<LayeredModel>(spec, plan));
}

Status Model::AddGradient(Device& device, std::span<const float> parameters, const Dataset& batch,
                          double weight, std::span<float> gradient, double& loss) const {
  ModelSession session(device, *this);
  MOTLEY_RETURN_IF_ERROR(session.Begin(parameters, std::nullopt, gradient));
  MOTLEY_RETURN_IF_ERROR(session.Add(batch, weight));
  return session.Finish(loss);
}

Status Model::Forward(Device& device, std::span<const float> parameters, const Dataset& batch,
                      std::vector<float>& outputs) const {
  return ModelSession(device, *this).Forward(parameters, std::nullopt, batch, outputs);
}

}  // namespace motley
