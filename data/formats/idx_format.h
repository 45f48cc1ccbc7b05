// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: 0, 0, type, dimensions, big-endian sizes, data. Images of bytes, which
// become values in [0, 1]; their labels stand in a second file beside them.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kIdxFormat;

// The label file that belongs to an image file: "images" becomes "labels" and "idx3" "idx1" in its
// name; with and without .gz. kNotFound names what was looked for.
Result<std::string> FindIdxLabels(const std::string& images_path);

}  // namespace motley
