// SPDX-License-Identifier: Apache-2.0
// The one symbol of a kernel module. Whether the processor has the instructions is asked before the
// module is loaded (devices/cpu/kernel_modules.cc): its code could not run to tell.
#include "devices/cpu/kernels/operations.h"

namespace {

motley_kernels MakeTable() {
  return motley_kernels{
      .version = MOTLEY_KERNELS_VERSION,
      .struct_size = sizeof(motley_kernels),
      .name = MOTLEY_KERNELS_NAME,
      .gemm = motley::cpu::Gemm,
      .csr_times_dense = motley::cpu::CsrTimesDense,
      .csr_transposed_times_dense = motley::cpu::CsrTransposedTimesDense,
      .add_bias = motley::cpu::AddBias,
      .add_column_sums = motley::cpu::AddColumnSums,
      .add_row_sums = motley::cpu::AddRowSums,
      .scale_rows = motley::cpu::ScaleRows,
      .relu = motley::cpu::Relu,
      .relu_backward = motley::cpu::ReluBackward,
      .im2col = motley::cpu::Im2col,
      .col2im = motley::cpu::Col2im,
      .max_pool = motley::cpu::MaxPool,
      .max_pool_backward = motley::cpu::MaxPoolBackward,
      .layer_norm = motley::cpu::LayerNorm,
      .layer_norm_backward = motley::cpu::LayerNormBackward,
      .softmax_cross_entropy = motley::cpu::SoftmaxCrossEntropy,
      .logistic_loss = motley::cpu::LogisticLoss,
      .hinge_loss = motley::cpu::HingeLoss,
      .squared_loss = motley::cpu::SquaredLoss,
      .axpy = motley::cpu::Axpy,
      .multiply = motley::cpu::Multiply,
      .fill = motley::cpu::Fill,
      .scale = motley::cpu::Scale,
      .sum_of_squares = motley::cpu::SumOfSquares,
      .sgd = motley::cpu::Sgd,
      .momentum = motley::cpu::Momentum,
      .adam = motley::cpu::Adam,
  };
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const motley_kernels* motley_kernels_get(
    uint32_t version) {
  if (version != MOTLEY_KERNELS_VERSION) return nullptr;
  static const motley_kernels table = MakeTable();
  return &table;
}
