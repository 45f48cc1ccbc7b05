// SPDX-License-Identifier: Apache-2.0
// Layers with a ReLU between each two, and a loss.
#pragma once

#include <memory>

#include "training/architecture.h"
#include "training/model.h"

namespace motley {

std::unique_ptr<Model> MakeLayeredModel(const ModelSpec& spec, const Architecture& plan);

// Adds the loss of `outputs` [batch.rows, columns] to *sum and leaves its derivative in `outputs`.
void LossGradient(Loss loss, Device& device, const DeviceBatch& batch, uint32_t columns,
                  float* outputs, double* sum);

}  // namespace motley
