// SPDX-License-Identifier: Apache-2.0
// Samples in a safetensors file, with tensors for features and labels.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kSafetensorsFormat;

}  // namespace motley
