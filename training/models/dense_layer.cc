// SPDX-License-Identifier: Apache-2.0
// The fully connected layer: weight [inputs, outputs], bias [outputs]. With layer normalisation
// (Ba, Kiros, Hinton 2016) also gain and shift [outputs].
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "training/models/layer.h"

namespace motley {
namespace {

constexpr float kEpsilon = 1e-5f;            // Added to variances, as in PyTorch.
constexpr size_t kNormal = 0, kInverse = 1;  // Own buffers.
constexpr size_t kSums = 0;                  // Shared buffer.

class DenseLayer final : public Layer {
 public:
  DenseLayer(const LayerPlan& plan, std::string name, size_t offset)
      : plan_(plan), name_(std::move(name)), offset_(offset) {}

  size_t inputs() const override { return plan_.inputs; }
  size_t outputs() const override { return plan_.outputs; }
  size_t most_values() const override { return std::max(inputs(), outputs()); }
  size_t parameter_count() const override {
    return weight_count() + (plan_.norm ? 3 : 1) * outputs();
  }
  double multiply_adds(double entries) const override {
    return (entries + (plan_.norm ? 3 : 1)) * plan_.outputs;
  }

  void AppendRanges(std::vector<ParameterRange>& ranges) const override {
    ranges.push_back({name_ + ".weight", {plan_.inputs, plan_.outputs}, offset_, weight_count()});
    size_t offset = offset_ + weight_count();
    for (const char* vector : {".bias", ".gain", ".shift"}) {
      ranges.push_back({name_ + vector, {plan_.outputs}, offset, outputs()});
      offset += outputs();
      if (!plan_.norm) break;
    }
  }

  void Initialize(Random& random, std::span<float> parameters) const override {
    DrawWeights(random, plan_.inputs, parameters.subspan(offset_, weight_count()));
    if (!plan_.norm) return;
    const auto gain = parameters.subspan(offset_ + weight_count() + outputs(), outputs());
    std::fill(gain.begin(), gain.end(), 1.0f);
  }

  Status Forward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                 float* out) const override {
    const motley_kernels& kernels = room.device().kernels();
    void* queue = room.device().queue();
    const float* weight = parameters + offset_;
    const float* bias = weight + weight_count();
    float* to = out;
    if (plan_.norm) {
      MOTLEY_ASSIGN_OR_RETURN(to, room.Own(kNormal, input.rows * outputs()));
    }
    if (input.dense != nullptr) {
      kernels.gemm(queue, 0, 0, input.rows, outputs(), inputs(), 1, input.dense, weight, 0, to);
    } else {
      kernels.csr_times_dense(queue, &input.sparse, outputs(), 1, weight, 0, to);
    }
    kernels.add_bias(queue, input.rows, outputs(), bias, to);
    if (!plan_.norm) return Status::Ok();
    MOTLEY_ASSIGN_OR_RETURN(float* const inverse, room.Own(kInverse, input.rows));
    kernels.layer_norm(queue, input.rows, outputs(), kEpsilon, bias + outputs(),
                       bias + 2 * outputs(), to, inverse, out);
    return Status::Ok();
  }

  Status Backward(const LayerRoom& room, const float* parameters, const LayerInput& input,
                  float* delta, const LayerWeight& weight, float* gradient,
                  float* input_delta) const override {
    const motley_kernels& kernels = room.device().kernels();
    void* queue = room.device().queue();
    if (plan_.norm) {
      MOTLEY_RETURN_IF_ERROR(NormBackward(room, parameters, input.rows, delta, weight, gradient));
    }
    if (input_delta != nullptr) {
      kernels.gemm(queue, 0, 1, input.rows, inputs(), outputs(), 1, delta, parameters + offset_, 0,
                   input_delta);
    }
    MultiplyRows(room.device(), weight.rows, outputs(), delta);
    float* sum = gradient + offset_;
    if (input.dense != nullptr) {
      kernels.gemm(queue, 1, 0, inputs(), outputs(), input.rows, weight.all, input.dense, delta, 1,
                   sum);
    } else {
      kernels.csr_transposed_times_dense(queue, &input.sparse, outputs(), weight.all, delta, sum);
    }
    kernels.add_column_sums(queue, input.rows, outputs(), weight.all, delta, sum + weight_count());
    return Status::Ok();
  }

 private:
  size_t weight_count() const { return size_t{plan_.inputs} * plan_.outputs; }

  // Turns delta into the gradient of the normalised values.
  Status NormBackward(const LayerRoom& room, const float* parameters, size_t rows, float* delta,
                      const LayerWeight& weight, float* gradient) const {
    const motley_kernels& kernels = room.device().kernels();
    void* queue = room.device().queue();
    const size_t gain = offset_ + weight_count() + outputs();
    MOTLEY_ASSIGN_OR_RETURN(float* const normal, room.Own(kNormal, rows * outputs()));
    MOTLEY_ASSIGN_OR_RETURN(float* const inverse, room.Own(kInverse, rows));
    MOTLEY_RETURN_IF_ERROR(AddShift(room, rows, delta, weight, gradient + gain + outputs()));
    kernels.layer_norm_backward(queue, rows, outputs(), parameters + gain, inverse, normal, delta);
    MultiplyRows(room.device(), weight.rows, outputs(), normal);
    kernels.add_column_sums(queue, rows, outputs(), weight.all, normal, gradient + gain);
    return Status::Ok();
  }

  // sum += the column sums of weight * delta. delta stays unchanged: the sums are multiplied.
  Status AddShift(const LayerRoom& room, size_t rows, const float* delta, const LayerWeight& weight,
                  float* sum) const {
    const motley_kernels& kernels = room.device().kernels();
    void* queue = room.device().queue();
    if (weight.rows.empty()) {
      kernels.add_column_sums(queue, rows, outputs(), weight.all, delta, sum);
      return Status::Ok();
    }
    MOTLEY_ASSIGN_OR_RETURN(float* const of_run, room.Shared(kSums, outputs()));
    for (const RowWeight& run : weight.rows) {
      const RowWeight whole{.rows = 1, .weight = run.weight};
      kernels.fill(queue, outputs(), 0, of_run);
      kernels.add_column_sums(queue, run.rows, outputs(), 1, delta, of_run);
      MultiplyRows(room.device(), {&whole, 1}, outputs(), of_run);
      kernels.axpy(queue, outputs(), 1, of_run, sum);
      delta += run.rows * outputs();
    }
    return Status::Ok();
  }

  const LayerPlan plan_;
  const std::string name_;
  const size_t offset_;
};

}  // namespace

std::unique_ptr<Layer> MakeDenseLayer(const LayerPlan& plan, std::string name, size_t offset) {
  return std::make_unique<DenseLayer>(plan, std::move(name), offset);
}

void DrawWeights(Random& random, double inputs, std::span<float> weights) {
  const double deviation = std::sqrt(2.0 / inputs);
  for (float& weight : weights) weight = static_cast<float>(deviation * random.Normal());
}

}  // namespace motley
