// SPDX-License-Identifier: Apache-2.0
// Reads what users have: IDX (MNIST), LIBSVM text and CSV, each also gzipped, and folders in
// MNIST's layout. Formats are told apart by content, then by name. Errors name file and line (or
// byte).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/dataset.h"

namespace motley {

struct ReadOptions {
  std::string label;        // CSV alone: column name or index from 0; empty: the last.
  bool regression = false;  // Labels are real numbers; otherwise classes are formed from them.
};

struct TrainingData {
  Dataset train;
  std::optional<Dataset> test;       // From test=FILE or the t10k files of an MNIST folder.
  std::vector<double> class_labels;  // The file's own label for each class index.
};

// `spec`: "PATH" or "PATH:test=FILE". Classes are the distinct labels of train and test, ascending.
// kNotFound: no such file; kDataError: truncated, mislabelled, not a number, NaN or infinite.
Result<TrainingData> ReadTrainingData(const std::string& spec, const ReadOptions& options);

// One file with known classes, for `motley predict`: a label outside them is kDataError.
Result<Dataset> ReadLabelled(const std::string& path, const ReadOptions& options,
                             const std::vector<double>& class_labels, uint32_t features);

// A whole file, gunzipped if it is gzip. kNotFound, kDataError (truncated gzip), kResource.
Result<std::string> ReadFile(const std::string& path);

}  // namespace motley
