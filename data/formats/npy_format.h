// SPDX-License-Identifier: Apache-2.0
// Samples in an NPY array, whose labels are in a file beside it or in its last column.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kNpyFormat;

}  // namespace motley
