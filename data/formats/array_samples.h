// SPDX-License-Identifier: Apache-2.0
// Samples from arrays: the first extent counts the samples, the others are flattened to features.
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
  std::string name;  // For messages: "x.npy", or "a.npz, array 'x'".
  ElementType type;
  std::vector<uint64_t> shape;
  StreamReader* stream = nullptr;  // At the first element; row-major,
  bool column_major = false;       // unless it is so.
};

// The labels in an array of shape (N) or (N, 1). kDataError: another shape, or a value that is no
// finite number.
Result<std::vector<double>> ReadLabels(const ArrayInput& array);

// Hands the samples on in blocks, as `path`. Without `labels` the array has two dimensions and each
// row ends with its label, unless samples of `unlabelled` features may come without: their labels
// are NaN. kDataError as above, naming sample and value; or truncated.
Status ReadSamples(const ArrayInput& array, const std::optional<std::vector<double>>& labels,
                   const std::string& path, uint32_t unlabelled, SampleSink& sink);

// Which arrays of a file are features and labels, by the names that people use; labels: empty when
// there is but one array, whose rows end with their labels. `test`: of the test part. kDataError
// says what there is and what would be understood.
struct ArrayNames {
  std::string features;
  std::string labels;
};
Result<ArrayNames> FindArrays(const std::vector<std::string>& names, bool test,
                              const std::string& path);
bool HasTestArrays(const std::vector<std::string>& names);

}  // namespace motley
