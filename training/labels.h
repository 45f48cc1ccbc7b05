// SPDX-License-Identifier: Apache-2.0
// From labels as they stand in files to class indices.
#pragma once

#include <vector>

#include "base/status.h"
#include "training/dataset.h"
#include "training/raw_samples.h"

namespace motley {

inline constexpr size_t kMaxClasses = 10'000;

// The distinct labels of `train` and `test` (may be null), ascending. kDataError: a label that is
// not a whole number, only one class, or more than kMaxClasses (it looks like regression then).
Result<std::vector<double>> FindClasses(const RawSamples& train, const RawSamples* test);

// With the index of each label in `class_labels`, or the labels themselves when that is empty.
// kDataError: a label that is not among them.
Result<Dataset> ToDataset(RawSamples samples, const std::vector<double>& class_labels);

}  // namespace motley
