// SPDX-License-Identifier: Apache-2.0
// What a model asks of its data: classes, real numbers, or either.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "training/readers.h"

namespace motley {

// Opens training data with labels as the model takes them: linear real numbers; a factorisation
// machine two classes where there are just two labels, else real numbers; all others classes.
// Errors as OpenTrainingData's; options.regression is not looked at.
Result<OpenedData> OpenDataFor(const std::string& model, const std::string& spec,
                               ReadOptions options);

// How many classes made-up samples for the model have: `wanted`, unless it takes 2, or none.
uint32_t ClassesFor(const std::string& model, uint32_t wanted);

}  // namespace motley
