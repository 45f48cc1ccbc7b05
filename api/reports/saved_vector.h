// SPDX-License-Identifier: Apache-2.0
// The parameters of a trainer's model, whose shapes only the trainer knows.
#pragma once

#include <span>
#include <string>

#include "base/status.h"

namespace motley {

// As SaveModel: one tensor "parameters", a vector of F32. kInvalidArgument for values that are no
// numbers.
Status SaveVector(const std::string& path, std::span<const float> parameters);

}  // namespace motley
