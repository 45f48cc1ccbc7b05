// SPDX-License-Identifier: Apache-2.0
// Saves the parameters of a trainer's model. Only the trainer knows their shapes, so they are one
// vector.
#pragma once

#include <span>
#include <string>

#include "base/status.h"

namespace motley {

// Works like SaveModel, with one F32 vector named "parameters". kInvalidArgument: a value is not
// finite.
Status SaveVector(const std::string& path, std::span<const float> parameters);

}  // namespace motley
