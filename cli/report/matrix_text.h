// SPDX-License-Identifier: Apache-2.0
// Formats encoding matrices for users.
#pragma once

#include <string>

#include "coding/code_form.h"

namespace motley {

// B as aligned numbers, one line per worker. Neighbouring partitions with equal columns share one
// column; "." is no entry. A matrix wider than 120 characters is written sparsely, row by row.
std::string FormatMatrix(const CodeForm& form);

}  // namespace motley
