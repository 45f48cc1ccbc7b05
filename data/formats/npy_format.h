// SPDX-License-Identifier: Apache-2.0
// An array as NumPy saves it, with its labels in a file beside it or in its last column.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kNpyFormat;

}  // namespace motley
