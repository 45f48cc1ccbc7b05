// SPDX-License-Identifier: Apache-2.0
// A convolution over images, channels last, then max pooling. Parameters: weight [kernel_height,
// kernel_width, channels in, channels out], bias [channels out]. The following ReLU gives the same
// result after pooling as before, on fewer values.
#include <algorithm>
#include <utility>

#include "base/random.h"
#include "training/models/layer.h"

namespace motley {
namespace {

constexpr size_t kUnpooled = 0;              // Own buffer: output of the convolution.
constexpr size_t kPatches = 0, kDeltas = 1;  // Shared buffers: windows; gradient of kUnpooled.

class Convolution final : public Layer {
 public:
  Convolution(const LayerPlan& plan, std::string name, size_t offset)
      : plan_(plan), window_(plan_.window), name_(std::move(name)), offset_(offset) {}

  size_t inputs() const override { return plan_.inputs; }
  size_t outputs() const override { return plan_.outputs; }
  size_t most_values() const override { return pixels() * std::max(patch(), channels()); }
  size_t parameter_count() const override { return (patch() + 1) * channels(); }
  double multiply_adds(double) const override {
    return static_cast<double>(pixels()) * static_cast<double>(parameter_count());
  }

  void AppendRanges(std::vector<ParameterRange>& ranges) const override {
    ranges.push_back(
        {name_ + ".weight",
         {window_.kernel_height, window_.kernel_width, window_.channels, plan_.channels},
         offset_,
         weight_count()});
    ranges.push_back({name_ + ".bias", {plan_.channels}, offset_ + weight_count(), channels()});
  }

  void Initialize(Random& random, std::span<float> parameters) const override {
    DrawWeights(random, static_cast<double>(patch()), parameters.subspan(offset_, weight_count()));
  }

  Status Forward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                 float* out) const override {
    MOTLEY_ASSERT(input.dense != nullptr || input.rows == 0);
    const motley_kernels& kernels = room.device().kernels();
    void* queue = room.device().queue();
    const size_t windows = input.rows * pixels();
    MOTLEY_ASSIGN_OR_RETURN(float* const patches, room.Shared(kPatches, windows * patch()));
    MOTLEY_ASSIGN_OR_RETURN(float* const unpooled, room.Own(kUnpooled, windows * channels()));
    const float* weight = parameters + offset_;
    kernels.im2col(queue, &window_, input.rows, input.dense, patches);
    kernels.gemm(queue, 0, 0, windows, channels(), patch(), 1, patches, weight, 0, unpooled);
    kernels.add_bias(queue, windows, channels(), weight + weight_count(), unpooled);
    kernels.max_pool(queue, &plan_.pooling, input.rows, unpooled, out);
    return Status::Ok();
  }

  // Computes the patches again, because those of all layers at once would need many times their
  // memory.
  Status Backward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                  float* delta, const LayerWeight& weight, float* gradient,
                  float* input_delta) const override {
    const motley_kernels& kernels = room.device().kernels();
    void* queue = room.device().queue();
    const size_t windows = input.rows * pixels();
    MOTLEY_ASSIGN_OR_RETURN(float* const patches, room.Shared(kPatches, windows * patch()));
    MOTLEY_ASSIGN_OR_RETURN(float* const deltas, room.Shared(kDeltas, windows * channels()));
    MOTLEY_ASSIGN_OR_RETURN(float* const unpooled, room.Own(kUnpooled, windows * channels()));
    kernels.max_pool_backward(queue, &plan_.pooling, input.rows, unpooled, delta, deltas);
    if (input_delta != nullptr) {
      kernels.gemm(queue, 0, 1, windows, patch(), channels(), 1, deltas, parameters + offset_, 0,
                   patches);
      kernels.fill(queue, input.rows * inputs(), 0, input_delta);
      kernels.col2im(queue, &window_, input.rows, patches, input_delta);
    }
    MultiplyRows(room.device(), weight.rows, pixels() * channels(), deltas);
    float* sum = gradient + offset_;
    kernels.im2col(queue, &window_, input.rows, input.dense, patches);
    kernels.gemm(queue, 1, 0, patch(), channels(), windows, weight.all, patches, deltas, 1, sum);
    kernels.add_column_sums(queue, windows, channels(), weight.all, deltas, sum + weight_count());
    return Status::Ok();
  }

 private:
  size_t pixels() const { return size_t{window_.out_height} * window_.out_width; }
  size_t patch() const {
    return size_t{window_.kernel_height} * window_.kernel_width * window_.channels;
  }
  size_t channels() const { return plan_.channels; }
  size_t weight_count() const { return patch() * channels(); }

  const LayerPlan plan_;
  const motley_window& window_;  // Refers to plan_.
  const std::string name_;
  const size_t offset_;
};

}  // namespace

std::unique_ptr<Layer> MakeConvolution(const LayerPlan& plan, std::string name, size_t offset) {
  return std::make_unique<Convolution>(plan, std::move(name), offset);
}

}  // namespace motley
