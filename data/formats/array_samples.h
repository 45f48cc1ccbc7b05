// SPDX-License-Identifier: Apache-2.0
// Samples from arrays: the first dimension counts the samples, the others are flattened to
// features.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "data/formats/element_type.h"
#include "data/raw_samples.h"

namespace motley {

struct ArrayInput {
  std::string name;  // Name for messages: "x.npy", or "a.npz, array 'x'".
  ElementType type;
  std::vector<uint64_t> shape;
  StreamReader* stream = nullptr;  // Positioned at the first element.
  bool column_major = false;       // False: the elements are in row-major order.
};

// Reads labels from an array of shape (N) or (N, 1). kDataError: another shape, or a value that is
// not a finite number.
Result<std::vector<double>> ReadLabels(const ArrayInput& array);

// Passes the samples on in blocks, as from the file `path`. Without `labels` the array must have
// two dimensions, and each row ends with its label. Rows of exactly `unlabelled` features may lack
// it; their labels are NaN. kDataError: see ReadLabels, naming sample and value; or the file is
// truncated.
Status ReadSamples(const ArrayInput& array, const std::optional<std::vector<double>>& labels,
                   const std::string& path, uint32_t unlabelled, SampleSink& sink);

// The arrays of a file that hold features and labels, found by customary names. `labels` is empty
// if there is only one array; its rows end with their labels. `test` selects the test part.
// kDataError lists the arrays in the file and the names that are understood.
struct ArrayNames {
  std::string features;
  std::string labels;
};
Result<ArrayNames> FindArrays(const std::vector<std::string>& names, bool test,
                              const std::string& path);
bool HasTestArrays(const std::vector<std::string>& names);

}  // namespace motley
