// SPDX-License-Identifier: Apache-2.0
// A model of layers with a ReLU between each two, and a loss.
#pragma once

#include <memory>

#include "training/models/architecture.h"
#include "training/models/model.h"

namespace motley {

std::unique_ptr<Model> MakeLayeredModel(const ModelSpec& spec, const Architecture& plan);

// Adds the losses of `outputs` [batch.rows, columns] to losses[i] for the rows of weights[i].
// Replaces `outputs` by the derivatives of the losses. These include class weights, but no other
// weights.
void LossGradient(Loss loss, Device& device, const DeviceBatch& batch, RowWeights weights,
                  uint32_t columns, float* outputs, double* losses);

}  // namespace motley
