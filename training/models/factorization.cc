// SPDX-License-Identifier: Apache-2.0
#include "training/models/factorization.h"

#include <algorithm>

#include "base/random.h"
#include "training/models/layered_model.h"

namespace motley {
namespace {

constexpr double kDeviation = 0.1;  // Initial deviation of factors.

// Buffers of the workspace, by rows, features and factors.
enum Piece : size_t {
  kOutputs,         // [rows]
  kSums,            // [rows, factors]: sum_i factor_i x_i.
  kSumsScratch,     // Same size as kSums.
  kFactorScratch,   // [features, factors]
  kFeatureScratch,  // [features]
  kSquares,         // Squares x_i^2 of the samples' values.
};

class FactorizationMachine final : public Model {
 public:
  FactorizationMachine(const ModelSpec& spec, const Architecture& plan)
      : spec_(spec), loss_(plan.loss), features_(spec.features), factors_(plan.factors) {
    ranges_ = {{"linear.weight", {spec.features, 1}, 0, features_},
               {"linear.bias", {1}, features_, 1},
               {"factors", {spec.features, plan.factors}, features_ + 1, features_ * factors_}};
  }

  const ModelSpec& spec() const override { return spec_; }
  size_t parameter_count() const override { return features_ * (factors_ + 1) + 1; }
  const std::vector<ParameterRange>& ranges() const override { return ranges_; }
  uint32_t outputs() const override { return 1; }
  Loss loss() const override { return loss_; }
  bool takes_sparse() const override { return true; }
  double multiply_adds(double entries) const override {
    return entries * (static_cast<double>(factors_) + 2) + static_cast<double>(factors_);
  }

  void Initialize(uint64_t seed, std::span<float> parameters) const override {
    MOTLEY_ASSERT(parameters.size() == parameter_count());
    std::fill(parameters.begin(), parameters.end(), 0.0f);
    Random random(seed, Stream::kInitialize, 0);
    for (float& factor : parameters.subspan(features_ + 1)) {
      factor = static_cast<float>(kDeviation * random.Normal());
    }
  }

  Status AddGradient(DeviceMemory& workspace, const float* parameters, const DeviceBatch& batch,
                     RowWeights weights, float* gradient, double* losses,
                     ParameterTurns& turns) const override {
    Device& device = workspace.device();
    const motley_kernels& kernels = device.kernels();
    void* queue = device.queue();
    MOTLEY_RETURN_IF_ERROR(turns.BeforeReading(0, parameter_count()));
    MOTLEY_ASSIGN_OR_RETURN(const Buffer* const outputs, Forward(workspace, parameters, batch));
    float* const delta = outputs->floats();
    LossGradient(loss_, device, batch, weights, 1, delta, losses);
    MultiplyRows(device, weights, 1, delta);
    AddTransposedProduct(device, batch, 1, 1, delta, gradient);
    kernels.add_column_sums(queue, batch.rows, 1, 1, delta, gradient + features_);
    turns.AfterAdding(0, features_ + 1);
    // Gradient of factor_i: delta x_i (sum - factor_i x_i), summed over the rows.
    float* const sum = gradient + features_ + 1;
    MOTLEY_ASSIGN_OR_RETURN(float* const sums, workspace.Floats(kSums, batch.rows * factors_));
    kernels.scale_rows(queue, batch.rows, factors_, delta, sums, sums);
    AddTransposedProduct(device, batch, factors_, 1, sums, sum);
    MOTLEY_ASSIGN_OR_RETURN(const DeviceBatch squares, Squares(workspace, batch));
    MOTLEY_ASSIGN_OR_RETURN(float* const own, workspace.Floats(kFeatureScratch, features_));
    kernels.fill(queue, features_, 0, own);
    AddTransposedProduct(device, squares, 1, 1, delta, own);
    MOTLEY_ASSIGN_OR_RETURN(float* const scratch,
                            workspace.Floats(kFactorScratch, features_ * factors_));
    kernels.scale_rows(queue, features_, factors_, own, parameters + features_ + 1, scratch);
    kernels.axpy(queue, features_ * factors_, -1, scratch, sum);
    turns.AfterAdding(features_ + 1, parameter_count());
    return Status::Ok();
  }

  // Leaves kSums and kSquares for AddGradient.
  Result<const Buffer*> Forward(DeviceMemory& workspace, const float* parameters,
                                const DeviceBatch& batch) const override {
    Device& device = workspace.device();
    const motley_kernels& kernels = device.kernels();
    void* queue = device.queue();
    const float* factors = parameters + features_ + 1;
    const size_t rows = batch.rows;
    MOTLEY_ASSIGN_OR_RETURN(const Buffer* const outputs,
                            workspace.Piece(kOutputs, rows * sizeof(float)));
    MOTLEY_ASSIGN_OR_RETURN(float* const sums, workspace.Floats(kSums, rows * factors_));
    MOTLEY_ASSIGN_OR_RETURN(float* const squared, workspace.Floats(kSumsScratch, rows * factors_));
    Multiply(device, batch, 1, 1, parameters, 0, outputs->floats());
    kernels.add_bias(queue, rows, 1, parameters + features_, outputs->floats());
    Multiply(device, batch, factors_, 1, factors, 0, sums);
    kernels.multiply(queue, rows * factors_, sums, sums, squared);
    kernels.add_row_sums(queue, rows, factors_, 0.5f, squared, outputs->floats());
    // Subtracts the product of each feature with itself.
    MOTLEY_ASSIGN_OR_RETURN(float* const scratch,
                            workspace.Floats(kFactorScratch, features_ * factors_));
    MOTLEY_ASSIGN_OR_RETURN(float* const norms, workspace.Floats(kFeatureScratch, features_));
    kernels.multiply(queue, features_ * factors_, factors, factors, scratch);
    kernels.fill(queue, features_, 0, norms);
    kernels.add_row_sums(queue, features_, factors_, 1, scratch, norms);
    MOTLEY_ASSIGN_OR_RETURN(float* const values, workspace.Floats(kSquares, Values(batch)));
    const float* const from = batch.dense != nullptr ? batch.dense : batch.sparse.value;
    kernels.multiply(queue, Values(batch), from, from, values);
    MOTLEY_ASSIGN_OR_RETURN(const DeviceBatch squares, Squares(workspace, batch));
    Multiply(device, squares, 1, -0.5f, norms, 1, outputs->floats());
    return outputs;
  }

 private:
  size_t Values(const DeviceBatch& batch) const {
    return batch.dense != nullptr ? batch.rows * features_ : batch.entries;
  }

  // The batch with squared values; kSquares must be filled.
  Result<DeviceBatch> Squares(DeviceMemory& workspace, const DeviceBatch& batch) const {
    MOTLEY_ASSIGN_OR_RETURN(const float* const values, workspace.Floats(kSquares, Values(batch)));
    DeviceBatch squares = batch;
    (batch.dense != nullptr ? squares.dense : squares.sparse.value) = values;
    return squares;
  }

  // c[rows, n] = alpha * x * b[features, n] + beta * c.
  void Multiply(Device& device, const DeviceBatch& x, size_t n, float alpha, const float* b,
                float beta, float* c) const {
    const motley_kernels& kernels = device.kernels();
    if (x.dense != nullptr) {
      kernels.gemm(device.queue(), 0, 0, x.rows, n, features_, alpha, x.dense, b, beta, c);
    } else {
      kernels.csr_times_dense(device.queue(), &x.sparse, n, alpha, b, beta, c);
    }
  }
  // c[features, n] += alpha * transpose(x) * b[rows, n].
  void AddTransposedProduct(Device& device, const DeviceBatch& x, size_t n, float alpha,
                            const float* b, float* c) const {
    const motley_kernels& kernels = device.kernels();
    if (x.dense != nullptr) {
      kernels.gemm(device.queue(), 1, 0, features_, n, x.rows, alpha, x.dense, b, 1, c);
    } else {
      kernels.csr_transposed_times_dense(device.queue(), &x.sparse, n, alpha, b, c);
    }
  }

  ModelSpec spec_;
  Loss loss_;
  size_t features_;
  size_t factors_;
  std::vector<ParameterRange> ranges_;
};

}  // namespace

std::unique_ptr<Model> MakeFactorizationMachine(const ModelSpec& spec, const Architecture& plan) {
  return std::make_unique<FactorizationMachine>(spec, plan);
}

}  // namespace motley
