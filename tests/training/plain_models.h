// SPDX-License-Identifier: Apache-2.0
// The formulas of the models that are more than layers of products, one sample at a time, over
// doubles or numbers that are differentiated (tape.h).
#pragma once

#include <span>
#include <vector>

#include "training/models/model.h"

namespace motley::reference {

// Whether the model is one of them; else reference.cc has it.
bool IsPlainModel(const ModelSpec& spec);

// Loss of one sample; adds its gradient to `gradient` unless that is empty.
double PlainLoss(const ModelSpec& spec, std::span<const double> w, std::span<const double> x,
                 double label, std::span<double> gradient);

}  // namespace motley::reference
