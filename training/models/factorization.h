// SPDX-License-Identifier: Apache-2.0
// Second-order factorisation machines (Rendle 2010, equations 1 to 5): for features x,
//   y = bias + sum_i weight_i x_i + sum_{i<j} <factor_i, factor_j> x_i x_j,
// of which the last is half of |sum_i factor_i x_i|^2 - sum_i |factor_i|^2 x_i^2. With a user and
// an item one-hot in each row, that is matrix factorisation with biases (Koren, Bell, Volinsky
// 2009). Squared loss on real numbers, logistic on two classes.
#pragma once

#include <memory>

#include "training/models/architecture.h"
#include "training/models/model.h"

namespace motley {

// Factors start from N(0, 0.01), all else at 0.
std::unique_ptr<Model> MakeFactorizationMachine(const ModelSpec& spec, const Architecture& plan);

}  // namespace motley
