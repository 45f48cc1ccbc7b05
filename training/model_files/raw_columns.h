// SPDX-License-Identifier: Apache-2.0
// Converts between a model of scaled features and the model of raw ones that computes the same. The
// first layer absorbs the features' scaling, the last layer the target's.
#pragma once

#include <span>

#include "base/status.h"
#include "training/model_files/safetensors.h"

namespace motley {

// Converts `parameters` from features and target that are scaled as `about` says (its table, its
// input_scale) to raw columns and the labels' own units. Example: column x has mean 5 and deviation
// 2, and the weight of (x - 5) / 2 is 3. Then the weight of x is 1.5, and the bias falls by 7.5.
// kInvalidArgument: convolutions over pixels that were scaled one by one.
Status FoldScaling(const SavedModel& about, std::span<float> parameters);
// The inverse of FoldScaling. Weights of constant columns become 0.
Status UnfoldScaling(const SavedModel& about, std::span<float> parameters);
// kInvalidArgument if the two functions above cannot convert the model.
Status CheckFoldable(const SavedModel& about);

}  // namespace motley
