// SPDX-License-Identifier: Apache-2.0
// Second-order factorisation machines (Rendle 2010, equations 1 to 5). For features x, y = bias +
// sum_i weight_i x_i + sum_{i<j} <factor_i, factor_j> x_i x_j. The last sum is half of |sum_i
// factor_i x_i|^2 - sum_i |factor_i|^2 x_i^2. If each row is a one-hot user and a one-hot item,
// this is matrix factorisation with biases (Koren, Bell, Volinsky 2009). The loss is squared for
// real numbers and logistic for two classes.
#pragma once

#include <memory>

#include "training/models/architecture.h"
#include "training/models/model.h"

namespace motley {

// Factors start from N(0, 0.01), everything else at 0.
std::unique_ptr<Model> MakeFactorizationMachine(const ModelSpec& spec, const Architecture& plan);

}  // namespace motley
