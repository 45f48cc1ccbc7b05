// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/operations.h"

namespace motley::cuda {

const motley_kernels& Operations() {
  static constexpr motley_kernels kTable = {
      .version = MOTLEY_KERNELS_VERSION,
      .struct_size = sizeof(motley_kernels),
      .name = "cuda",
      .gemm = Gemm,
      .csr_times_dense = CsrTimesDense,
      .csr_transposed_times_dense = CsrTransposedTimesDense,
      .add_bias = AddBias,
      .add_column_sums = AddColumnSums,
      .add_row_sums = AddRowSums,
      .scale_rows = ScaleRows,
      .relu = Relu,
      .relu_backward = ReluBackward,
      .im2col = Im2col,
      .col2im = Col2im,
      .max_pool = MaxPool,
      .max_pool_backward = MaxPoolBackward,
      .layer_norm = LayerNorm,
      .layer_norm_backward = LayerNormBackward,
      .softmax_cross_entropy = SoftmaxCrossEntropy,
      .logistic_loss = LogisticLoss,
      .hinge_loss = HingeLoss,
      .squared_loss = SquaredLoss,
      .axpy = Axpy,
      .multiply = Multiply,
      .fill = Fill,
      .scale = Scale,
      .sum_of_squares = SumOfSquares,
      .sgd = Sgd,
      .momentum = Momentum,
      .adam = Adam,
  };
  return kTable;
}

}  // namespace motley::cuda
