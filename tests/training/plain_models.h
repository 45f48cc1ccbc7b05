// SPDX-License-Identifier: Apache-2.0
// Plain formulas of the models that are more than layers of products, one sample at a time, over
// doubles or differentiable numbers (tape.h).
#pragma once

#include <span>
#include <vector>

#include "training/models/model.h"

namespace motley::reference {

// True for models defined here; reference.cc has the others.
bool IsPlainModel(const ModelSpec& spec);

// Loss of one sample; adds its gradient to `gradient` unless that is empty.
double PlainLoss(const ModelSpec& spec, std::span<const double> w, std::span<const double> x,
                 double label, std::span<double> gradient);

}  // namespace motley::reference
