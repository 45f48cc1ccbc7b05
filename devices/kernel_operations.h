// SPDX-License-Identifier: Apache-2.0
// The list of the kernel table's entries (documented in devices/kernels.h), each with the name of
// the function that implements it in every driver's namespace. CUDA sources include this file, so
// it is C++17.
#pragma once

#include <cstddef>
#include <type_traits>

#include "devices/kernels.h"

// In the order of motley_kernels.
// clang-format off
#define MOTLEY_FOR_EACH_KERNEL(DO) \
  DO(gemm, Gemm) \
  DO(csr_times_dense, CsrTimesDense) \
  DO(csr_transposed_times_dense, CsrTransposedTimesDense) \
  DO(add_bias, AddBias) \
  DO(add_column_sums, AddColumnSums) \
  DO(add_row_sums, AddRowSums) \
  DO(scale_rows, ScaleRows) \
  DO(relu, Relu) \
  DO(relu_backward, ReluBackward) \
  DO(dropout, Dropout) \
  DO(im2col, Im2col) \
  DO(col2im, Col2im) \
  DO(max_pool, MaxPool) \
  DO(max_pool_backward, MaxPoolBackward) \
  DO(layer_norm, LayerNorm) \
  DO(layer_norm_backward, LayerNormBackward) \
  DO(softmax_cross_entropy, SoftmaxCrossEntropy) \
  DO(logistic_loss, LogisticLoss) \
  DO(hinge_loss, HingeLoss) \
  DO(squared_loss, SquaredLoss) \
  DO(axpy, Axpy) \
  DO(multiply, Multiply) \
  DO(fill, Fill) \
  DO(scale, Scale) \
  DO(scale_pairs, ScalePairs) \
  DO(widen, Widen) \
  DO(sum_of_squares, SumOfSquares) \
  DO(sketch, Sketch) \
  DO(sgd, Sgd) \
  DO(momentum, Momentum) \
  DO(adam, Adam)
// clang-format on

// For MOTLEY_FOR_EACH_KERNEL: the first declares the function, the second puts it into a table.
#define MOTLEY_DECLARE_KERNEL(entry, Function) \
  std::remove_pointer_t<decltype(motley_kernels::entry)> Function;
#define MOTLEY_KERNEL_ENTRY(entry, Function) .entry = Function,

#define MOTLEY_KERNEL_SIZE(entry, Function) +sizeof(motley_kernels::entry)
static_assert(offsetof(motley_kernels, gemm)
                      MOTLEY_FOR_EACH_KERNEL(MOTLEY_KERNEL_SIZE) == sizeof(motley_kernels),
              "every entry of motley_kernels is in MOTLEY_FOR_EACH_KERNEL");
#undef MOTLEY_KERNEL_SIZE
