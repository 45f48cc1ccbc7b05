// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: 0, 0, type, dimensions, big-endian sizes, data. Images of bytes become
// features in [0, 1]. A second file beside them has their labels.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kIdxFormat;

// The label file of an image file: its name has "labels" for "images" and "idx1" for "idx3", with
// or without .gz. kNotFound lists the names that were tried.
Result<std::string> FindIdxLabels(const std::string& images_path);

}  // namespace motley
