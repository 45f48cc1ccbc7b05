// SPDX-License-Identifier: Apache-2.0
#include "training/models/layered_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "training/models/layer.h"

namespace motley {
namespace {

// Most values that a layer of images keeps of the rows it works on. The host's limit fits a
// processor's caches; the other keeps a device with memory of its own busy.
constexpr size_t kMostValuesOfHost = size_t{1} << 20, kMostValuesElsewhere = size_t{1} << 24;

class LayeredModel final : public Model {
 public:
  LayeredModel(const ModelSpec& spec, const Architecture& plan)
      : spec_(spec), loss_(plan.loss), outputs_(plan.outputs) {
    size_t dense = 0;
    for (const LayerPlan& layer : plan.layers) {
      const bool convolves = layer.kind == LayerPlan::Kind::kConvolution;
      images_ |= convolves;
      layers_.push_back(
          convolves
              ? MakeConvolution(layer, fmt::format("conv{}", layers_.size()), parameter_count_)
              : MakeDenseLayer(layer, fmt::format("layer{}", dense++), parameter_count_));
      layers_.back()->AppendRanges(ranges_);
      begins_.push_back(parameter_count_);
      parameter_count_ += layers_.back()->parameter_count();
    }
  }

  const ModelSpec& spec() const override { return spec_; }
  size_t parameter_count() const override { return parameter_count_; }
  const std::vector<ParameterRange>& ranges() const override { return ranges_; }
  uint32_t outputs() const override { return outputs_; }
  Loss loss() const override { return loss_; }
  bool takes_sparse() const override { return !images_; }
  double multiply_adds(double entries) const override {
    double sum = 0;
    for (const auto& layer : layers_) {
      sum += layer->multiply_adds(entries);
      entries = static_cast<double>(layer->outputs());
    }
    return sum;
  }

  void Initialize(uint64_t seed, std::span<float> parameters) const override {
    MOTLEY_ASSERT(parameters.size() == parameter_count_);
    std::fill(parameters.begin(), parameters.end(), 0.0f);
    if (layers_.size() == 1) return;
    for (size_t i = 0; i < layers_.size(); ++i) {
      Random random(seed, Stream::kInitialize, i);
      layers_[i]->Initialize(random, parameters);
    }
  }

  Status AddGradient(DeviceMemory& workspace, const float* parameters, const DeviceBatch& batch,
                     RowWeights weights, float* gradient, double* losses,
                     ParameterTurns& turns) const override {
    for (size_t begin = 0; begin < batch.rows; begin += RowsAtOnce(workspace, batch)) {
      const DeviceBatch part = batch.Rows(begin, RowsAtOnce(workspace, batch), spec_.features);
      const bool first_part = begin == 0;
      const bool last_part = begin + part.rows == batch.rows;
      MOTLEY_ASSIGN_OR_RETURN(float* const last,
                              workspace.Floats(layers_.size() - 1, part.rows * outputs_));
      MOTLEY_ASSIGN_OR_RETURN(
          const std::vector<float*> outputs,
          RunForward(workspace, parameters, part, last, first_part ? &turns : nullptr));
      const CutWeights cut = Cut(weights, begin, part.rows);
      LossGradient(loss_, workspace.device(), part, cut.weights, outputs_, last,
                   losses + cut.first);
      const LayerWeight weight = Apply(workspace.device(), cut.weights, last);
      MOTLEY_RETURN_IF_ERROR(RunBackward(workspace, parameters, part, outputs, weight, gradient,
                                         last_part ? &turns : nullptr));
    }
    return Status::Ok();
  }

  Result<const Buffer*> Forward(DeviceMemory& workspace, const float* parameters,
                                const DeviceBatch& batch) const override {
    MOTLEY_ASSIGN_OR_RETURN(
        const Buffer* const outputs,
        workspace.Piece(layers_.size() - 1, batch.rows * outputs_ * sizeof(float)));
    for (size_t begin = 0; begin < batch.rows; begin += RowsAtOnce(workspace, batch)) {
      const DeviceBatch part = batch.Rows(begin, RowsAtOnce(workspace, batch), spec_.features);
      float* const last = outputs->floats() + begin * outputs_;
      MOTLEY_RETURN_IF_ERROR(RunForward(workspace, parameters, part, last, nullptr).status());
    }
    return outputs;
  }

 private:
  // Rows to process at a time: the whole batch unless layers produce much per row.
  size_t RowsAtOnce(const DeviceMemory& workspace, const DeviceBatch& batch) const {
    if (!images_) return batch.rows;
    size_t values = 1;
    for (const auto& layer : layers_) values = std::max(values, layer->most_values());
    const bool here = workspace.device().host_accessible();
    return std::max<size_t>(1, (here ? kMostValuesOfHost : kMostValuesElsewhere) / values);
  }

  // Buffers of the workspace: the outputs of each layer; two that alternate for gradients on their
  // way back; those of the layers.
  LayerRoom RoomOf(DeviceMemory& workspace, size_t i) const {
    const size_t shared = layers_.size() + 2;
    return {workspace, shared + LayerRoom::kShared + i * LayerRoom::kOwn, shared};
  }

  // Input of layer i: the samples, or the output of the layer before.
  static LayerInput Input(size_t i, const DeviceBatch& batch, std::span<float* const> outputs) {
    if (i > 0) return {.rows = batch.rows, .dense = outputs[i - 1]};
    return {.rows = batch.rows, .dense = batch.dense, .sparse = batch.sparse};
  }

  size_t EndOf(size_t i) const { return begins_[i] + layers_[i]->parameter_count(); }

  // Returns the output of each layer after its ReLU; the last output is at `last`. `turns` may be
  // null.
  Result<std::vector<float*>> RunForward(DeviceMemory& workspace, const float* parameters,
                                         const DeviceBatch& batch, float* last,
                                         ParameterTurns* turns) const {
    Device& device = workspace.device();
    std::vector<float*> outputs;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const bool hidden = i + 1 < layers_.size();
      const size_t count = batch.rows * layers_[i]->outputs();
      float* out = last;
      if (hidden) {
        MOTLEY_ASSIGN_OR_RETURN(out, workspace.Floats(i, count));
      }
      if (turns != nullptr) MOTLEY_RETURN_IF_ERROR(turns->BeforeReading(begins_[i], EndOf(i)));
      MOTLEY_RETURN_IF_ERROR(
          layers_[i]->Forward(RoomOf(workspace, i), parameters, Input(i, batch, outputs), out));
      if (hidden) device.kernels().relu(device.queue(), count, out);
      if (hidden && batch.sample != nullptr) Drop(device, i, batch, out);
      outputs.push_back(out);
    }
    return outputs;
  }

  // Sets dropped units to 0, and scales the others.
  void Drop(Device& device, size_t i, const DeviceBatch& batch, float* out) const {
    constexpr double kWords = 0x1p32;
    const auto dropped = static_cast<uint32_t>(std::min(spec_.dropout * kWords, kWords - 1));
    const uint64_t key = Random(batch.seed, Stream::kDropout, batch.step, i).Next64();
    device.kernels().dropout(device.queue(), batch.rows, layers_[i]->outputs(), batch.sample, key,
                             dropped, ScaleOfKept(), out);
  }
  float ScaleOfKept() const { return static_cast<float>(1 / (1 - spec_.dropout)); }

  // Multiplies the loss's gradient by real weights. Returns the weights that each layer still has
  // to apply.
  LayerWeight Apply(Device& device, RowWeights weights, float* delta) const {
    if (!AreReal(weights)) return {.rows = weights};
    if (weights.size() == 1) return {.all = static_cast<float>(weights[0].weight.real())};
    MultiplyRows(device, weights, outputs_, delta);
    return {};
  }

  // Runs from the last layer, whose outputs now hold d(loss)/d(outputs), to the first.
  Status RunBackward(DeviceMemory& workspace, const float* parameters, const DeviceBatch& batch,
                     std::span<float* const> outputs, const LayerWeight& weight, float* gradient,
                     ParameterTurns* turns) const {
    Device& device = workspace.device();
    float* delta = outputs.back();
    for (size_t i = layers_.size(); i-- > 0;) {
      float* below = nullptr;
      const size_t count = batch.rows * layers_[i]->inputs();
      if (i > 0) {
        MOTLEY_ASSIGN_OR_RETURN(below, workspace.Floats(layers_.size() + i % 2, count));
      }
      MOTLEY_RETURN_IF_ERROR(layers_[i]->Backward(RoomOf(workspace, i), parameters,
                                                  Input(i, batch, outputs), delta, weight, gradient,
                                                  below));
      if (turns != nullptr) turns->AfterAdding(begins_[i], EndOf(i));
      // This also sets the gradient of dropped units to 0.
      if (i > 0) device.kernels().relu_backward(device.queue(), count, outputs[i - 1], below);
      if (i > 0 && batch.sample != nullptr) {
        device.kernels().scale(device.queue(), count, ScaleOfKept(), below);
      }
      delta = below;
    }
    return Status::Ok();
  }

  ModelSpec spec_;
  Loss loss_;
  uint32_t outputs_;
  bool images_ = false;
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<size_t> begins_;  // First parameter of each layer.
  std::vector<ParameterRange> ranges_;
  size_t parameter_count_ = 0;
};

}  // namespace

std::unique_ptr<Model> MakeLayeredModel(const ModelSpec& spec, const Architecture& plan) {
  return std::make_unique<LayeredModel>(spec, plan);
}

void LossGradient(Loss loss, Device& device, const DeviceBatch& batch, RowWeights weights,
                  uint32_t columns, float* outputs, double* losses) {
  const motley_kernels& kernels = device.kernels();
  void* queue = device.queue();
  const float* label = batch.label;
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t rows = weights[i].rows;
    double* const sum = losses + i;
    switch (loss) {
      case Loss::kSquared: kernels.squared_loss(queue, rows, label, outputs, sum); break;
      case Loss::kLogistic:
        kernels.logistic_loss(queue, rows, label, batch.class_weight, outputs, sum);
        break;
      case Loss::kHinge:
        kernels.hinge_loss(queue, rows, label, batch.class_weight, outputs, sum);
        break;
      case Loss::kSoftmax:
        kernels.softmax_cross_entropy(queue, rows, columns, label, batch.class_weight, outputs,
                                      sum);
        break;
    }
    label += rows;
    outputs += rows * columns;
  }
}

}  // namespace motley
