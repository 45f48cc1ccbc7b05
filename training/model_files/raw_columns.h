// SPDX-License-Identifier: Apache-2.0
// A model of scaled features, and the model of raw ones that computes the same: scaling is a part
// of the first layer, and the unit of a real target a part of the last.
#pragma once

#include <span>

#include "base/status.h"
#include "training/model_files/safetensors.h"

namespace motley {

// `parameters` are those of a model whose features and target are scaled as `about` says (its
// table, its input_scale). They become those of the model that takes the columns as they are, and
// answers in the units of the labels. Example: column x has mean 5 and deviation 2, and the weight
// of (x - 5) / 2 is 3: then that of x is 1.5, and 7.5 is taken off the bias.
// kInvalidArgument: convolutions over pixels that were each scaled by itself.
Status FoldScaling(const SavedModel& about, std::span<float> parameters);
// The way back. What belongs to constant columns is 0 afterwards.
Status UnfoldScaling(const SavedModel& about, std::span<float> parameters);
// Whether the two can do it.
Status CheckFoldable(const SavedModel& about);

}  // namespace motley
