// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/*.cl, by their names there, and that program itself.
#pragma once

#include <string_view>

namespace motley::opencl {

enum class KernelName {
  kAddBias,
  kScaleRows,
  kRelu,
  kReluBackward,
  kAxpy,
  kMultiply,
  kFill,
  kScale,
  kSgd,
  kMomentum,
  kAdam,
  kSquareSums,
  kLogisticLoss,
  kHingeLoss,
  kSquaredLoss,
  kSoftmaxOfItems,
  kSoftmaxOfGroups,
  kFinishSum,
  kColumnSums,
  kFinishColumns,
  kRowSums,
  kCsrTimesDense,
  kCsrCount,
  kCsrStarts,
  kCsrPlace,
  kCsrGather,
  kIm2col,
  kCol2im,
  kMaxPool,
  kMaxPoolBackward,
  kLayerNorm,
  kLayerNormBackward,
  // On processors only.
  kPackPanels,
  kMultiplyTiles,
};

inline constexpr const char* kKernelNames[] = {
    "add_bias",
    "scale_rows",
    "relu",
    "relu_backward",
    "axpy",
    "multiply",
    "fill",
    "scale",
    "sgd",
    "momentum",
    "adam",
    "square_sums",
    "logistic_loss",
    "hinge_loss",
    "squared_loss",
    "softmax_of_items",
    "softmax_of_groups",
    "finish_sum",
    "column_sums",
    "finish_columns",
    "row_sums",
    "csr_times_dense",
    "csr_count",
    "csr_starts",
    "csr_place",
    "csr_gather",
    "im2col",
    "col2im",
    "max_pool",
    "max_pool_backward",
    "layer_norm",
    "layer_norm_backward",
    "pack_panels",
    "multiply_tiles",
};

// Written by CMake from the files of kernels/.
extern const std::string_view kKernelSource;

}  // namespace motley::opencl
