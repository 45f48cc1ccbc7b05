// SPDX-License-Identifier: Apache-2.0
#include "devices/check/kernel_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "devices/check/checks.h"

namespace motley::check {
namespace {

// Products may lose precision in long chains of float32. Sums and losses are in float64.
// Element-wise kernels round once or twice, or not at all if they only select.
constexpr KernelCheck kChecks[] = {
    {"gemm", "", 1e-5, CheckGemm},
    {"csr_times_dense", "", 1e-5, CheckCsrTimesDense},
    {"csr_transposed_times_dense", "", 1e-5, CheckCsrTransposedTimesDense},
    {"add_bias", "", 1.2e-7, CheckAddBias},
    {"add_column_sums", "", 1e-6, CheckAddColumnSums},
    {"add_row_sums", "", 1e-6, CheckAddRowSums},
    {"scale_rows", "", 1.2e-7, CheckScaleRows},
    {"relu", "", 0, CheckRelu},
    {"relu_backward", "", 0, CheckReluBackward},
    {"dropout", "", 1.2e-7, CheckDropout},
    {"im2col", "", 0, CheckIm2col},
    {"col2im", "", 1e-6, CheckCol2im},
    {"max_pool", "", 0, CheckMaxPool},
    {"max_pool_backward", "", 0, CheckMaxPoolBackward},
    {"layer_norm", "", 2e-6, CheckLayerNorm},
    {"layer_norm_backward", "", 2e-6, CheckLayerNormBackward},
    {"softmax_cross_entropy", "gradient", 3e-7, CheckSoftmaxGradient},
    {"softmax_cross_entropy", "loss", 1e-6, CheckSoftmaxLoss},
    {"logistic_loss", "gradient", 1e-6, CheckLogisticGradient},
    {"logistic_loss", "loss", 1e-9, CheckLogisticLoss},
    {"hinge_loss", "", 1e-9, CheckHinge},
    {"squared_loss", "gradient", 1.2e-7, CheckSquaredGradient},
    {"squared_loss", "loss", 1e-6, CheckSquaredLoss},
    {"axpy", "", 3e-7, CheckAxpy},
    {"multiply", "", 1.2e-7, CheckMultiply},
    {"fill", "", 0, CheckFill},
    {"scale", "", 1.2e-7, CheckScale},
    {"scale_pairs", "", 3e-7, CheckScalePairs},
    {"widen", "fp16", 0, CheckWidenFp16},
    {"widen", "bf16", 0, CheckWidenBf16},
    {"sum_of_squares", "", 1e-12, CheckSumOfSquares},
    {"sketch", "", 1e-12, CheckSketch},
    {"sgd", "", 1e-6, CheckSgd},
    {"momentum", "heavy ball", 1e-6, CheckMomentum},
    {"momentum", "Nesterov", 1e-6, CheckNesterov},
    {"adam", "", 2e-6, CheckAdam},
};

}  // namespace

std::vector<float> CheckRun::Values(size_t count, double low, double high) {
  constexpr size_t kPeriod = 100'003;  // A prime, so that the blocks of a launch differ.
  std::vector<float> values = RandomValues(random, std::min(count, kPeriod), low, high);
  values.reserve(count);
  while (values.size() < count) values.push_back(values[values.size() - kPeriod]);
  return values;
}

std::vector<size_t> CheckRun::Counts() const {
  std::vector<size_t> counts = {0, 1, 7, 33, 1000, 100001};
  if (large) counts.push_back(kMoreThanOneLaunch);
  return counts;
}

std::span<const KernelCheck> KernelChecks() { return kChecks; }

CheckedKernel RunCheck(const KernelCheck& check, KernelRig& rig, uint64_t seed, bool large) {
  CheckRun run{rig, Random(seed, Stream::kTest), large};
  check.run(run);
  CheckedKernel checked{.kernel = std::string(check.kernel),
                        .worst = run.meter.worst(),
                        .tolerance = check.tolerance,
                        .where = run.meter.worst_at(),
                        .count = run.meter.count()};
  if (checked.count == 0) checked.where = "nothing was compared";
  if (!check.result.empty()) checked.kernel += fmt::format(": {}", check.result);
  return checked;
}

}  // namespace motley::check
