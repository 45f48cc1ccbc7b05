// SPDX-License-Identifier: Apache-2.0
// The names of the kernels in kernels/*.cl, and the source of that program.
#pragma once

#include <string_view>

namespace motley::opencl {

// Kernels from kPackPanels on exist on processors only.
// clang-format off
#define MOTLEY_FOR_EACH_CL_KERNEL(DO) \
  DO(kAddBias, add_bias) \
  DO(kScaleRows, scale_rows) \
  DO(kRelu, relu) \
  DO(kReluBackward, relu_backward) \
  DO(kDropout, dropout) \
  DO(kAxpy, axpy) \
  DO(kMultiply, multiply) \
  DO(kFill, fill) \
  DO(kScale, scale) \
  DO(kScalePairs, scale_pairs) \
  DO(kWiden, widen) \
  DO(kSgd, sgd) \
  DO(kMomentum, momentum) \
  DO(kAdam, adam) \
  DO(kSquareSums, square_sums) \
  DO(kSketchSums, sketch_sums) \
  DO(kLogisticLoss, logistic_loss) \
  DO(kHingeLoss, hinge_loss) \
  DO(kSquaredLoss, squared_loss) \
  DO(kSoftmaxOfItems, softmax_of_items) \
  DO(kSoftmaxOfGroups, softmax_of_groups) \
  DO(kFinishSum, finish_sum) \
  DO(kColumnSums, column_sums) \
  DO(kFinishColumns, finish_columns) \
  DO(kRowSums, row_sums) \
  DO(kMultiplyInGroups, multiply_in_groups) \
  DO(kCsrTimesDense, csr_times_dense) \
  DO(kCsrCount, csr_count) \
  DO(kCsrStarts, csr_starts) \
  DO(kCsrPlace, csr_place) \
  DO(kCsrGather, csr_gather) \
  DO(kIm2col, im2col) \
  DO(kCol2im, col2im) \
  DO(kMaxPool, max_pool) \
  DO(kMaxPoolBackward, max_pool_backward) \
  DO(kLayerNorm, layer_norm) \
  DO(kLayerNormBackward, layer_norm_backward) \
  DO(kPackPanels, pack_panels) \
  DO(kMultiplyTiles, multiply_tiles)
// clang-format on

#define MOTLEY_CL_KERNEL(name, function) name,
enum class KernelName { MOTLEY_FOR_EACH_CL_KERNEL(MOTLEY_CL_KERNEL) };
#undef MOTLEY_CL_KERNEL

#define MOTLEY_CL_KERNEL(name, function) #function,
inline constexpr const char* kKernelNames[] = {MOTLEY_FOR_EACH_CL_KERNEL(MOTLEY_CL_KERNEL)};
#undef MOTLEY_CL_KERNEL

// CMake writes this from the files in kernels/.
extern const std::string_view kKernelSource;

}  // namespace motley::opencl
