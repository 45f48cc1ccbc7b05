// SPDX-License-Identifier: Apache-2.0
// The checks of all kernels, grouped by file.
#pragma once

#include "devices/check/kernel_checks.h"

namespace motley::check {

// product_checks.cc
void CheckGemm(CheckRun& run);
void CheckCsrTimesDense(CheckRun& run);
void CheckCsrTransposedTimesDense(CheckRun& run);
// pointwise_checks.cc
void CheckAddBias(CheckRun& run);
void CheckAddColumnSums(CheckRun& run);
void CheckRelu(CheckRun& run);
void CheckReluBackward(CheckRun& run);
void CheckDropout(CheckRun& run);
void CheckAxpy(CheckRun& run);
void CheckFill(CheckRun& run);
void CheckScale(CheckRun& run);
void CheckScalePairs(CheckRun& run);
void CheckWidenFp16(CheckRun& run);
void CheckWidenBf16(CheckRun& run);
void CheckSumOfSquares(CheckRun& run);
void CheckSketch(CheckRun& run);
// layer_checks.cc
void CheckAddRowSums(CheckRun& run);
void CheckScaleRows(CheckRun& run);
void CheckMultiply(CheckRun& run);
void CheckIm2col(CheckRun& run);
void CheckCol2im(CheckRun& run);
void CheckMaxPool(CheckRun& run);
void CheckMaxPoolBackward(CheckRun& run);
void CheckLayerNorm(CheckRun& run);
void CheckLayerNormBackward(CheckRun& run);
void CheckHinge(CheckRun& run);
// loss_checks.cc
void CheckSoftmaxGradient(CheckRun& run);
void CheckSoftmaxLoss(CheckRun& run);
void CheckLogisticGradient(CheckRun& run);
void CheckLogisticLoss(CheckRun& run);
void CheckSquaredGradient(CheckRun& run);
void CheckSquaredLoss(CheckRun& run);
// optimizer_checks.cc
void CheckSgd(CheckRun& run);
void CheckMomentum(CheckRun& run);
void CheckNesterov(CheckRun& run);
void CheckAdam(CheckRun& run);

}  // namespace motley::check
