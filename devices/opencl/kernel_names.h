// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/*.cl, by their names there, and that program itself.
#pragma once

#include <string_view>

namespace motley::opencl {

enum class KernelName {
  kAddBias,
  kRelu,
  kReluBackward,
  kAxpy,
  kFill,
  kScale,
  kSgd,
  kMomentum,
  kAdam,
  kSquareSums,
  kLogisticLoss,
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
  // On processors only.
  kPackPanels,
  kMultiplyTiles,
};

inline constexpr const char* kKernelNames[] = {
    "add_bias",
    "relu",
    "relu_backward",
    "axpy",
    "fill",
    "scale",
    "sgd",
    "momentum",
    "adam",
    "square_sums",
    "logistic_loss",
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
    "pack_panels",
    "multiply_tiles",
};

// Written by CMake from the files of kernels/.
extern const std::string_view kKernelSource;

}  // namespace motley::opencl
