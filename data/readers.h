// SPDX-License-Identifier: Apache-2.0
// Reads what users have: NumPy's arrays (NPY, NPZ), safetensors, IDX (MNIST), LIBSVM text and CSV,
// gzipped as well (NPZ apart), and folders in MNIST's layout. Formats are told apart by content.
// Files are read in one pass, in blocks; what memory has no room for goes to a file without a name
// in the folder for temporary files. Errors name file and line (or sample, or byte).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/data_source.h"
#include "data/dataset.h"

namespace motley {

struct ReadOptions {
  // CSV alone: column name or index from 0. Empty: the only column named label, target, class or y
  // in any case, else the last.
  std::string label;
  bool regression = false;    // Labels are real numbers; otherwise classes are formed from them,
  bool guess = false;         // or either, as the labels are (see LabelCoder::Finish);
  bool two_classes = false;   // then classes only where there are two labels.
  uint64_t memory_bytes = 0;  // For features; 0: half of the memory that is available.
  Unwanted unwanted;          // Then reading ends with kCancelled.
  // Classes that a model or an earlier run knows, ascending, and their names where they are text:
  // see LabelCoder::Expect. Empty: none.
  std::vector<double> expected_classes;
  std::vector<std::string> expected_names;
  // CSV alone: takes texts and missing values, too, as cells (table_reading.h). Null: all fields
  // are numbers.
  std::shared_ptr<class TableReading> table;
  // Arrays, CSV: where samples have just so many values, they come without labels, which are NaN
  // then. 0: all have labels.
  uint32_t unlabelled_features = 0;
};

// What `--data` names.
struct DataSpec {
  std::string path;
  std::string labels;  // NPY alone: the labels of `path`; empty: in its last column.
  std::string test;    // Empty: none named.
  std::string test_labels;
};
// "PATH[:labels=FILE][:test=FILE[:labels=FILE]]"; kInvalidArgument shows that form.
Result<DataSpec> ParseDataSpec(const std::string& spec);

struct OpenedData {
  std::shared_ptr<const DataSource> train;
  // From test=FILE, the t10k files of an MNIST folder or the test arrays of a file; null: none.
  std::shared_ptr<const DataSource> test;
  std::vector<double> class_labels;      // The file's own label for each class index,
  std::vector<std::string> class_names;  // or, where labels are text, these; else empty.
  std::vector<std::string> names;        // Of the features, where the file has them.
  std::vector<std::string> notes;        // What the readers took for granted.
};

// Classes are the distinct labels of train and test, ascending. kNotFound: no such file;
// kDataError: truncated, mislabelled, not a number, NaN or infinite; kResource: memory or disk.
Result<OpenedData> OpenTrainingData(const std::string& spec, const ReadOptions& options);

// Samples for a model with known classes (`class_names` where they are text) and features, for
// `motley predict`: the test part where `spec` has one. A label or feature outside the model's is
// kDataError.
Result<std::shared_ptr<const DataSource>> OpenLabelled(
    const std::string& spec, const ReadOptions& options, const std::vector<double>& class_labels,
    uint32_t features, const std::vector<std::string>& class_names = {});

// The same, all in memory.
struct TrainingData {
  Dataset train;
  std::optional<Dataset> test;
  std::vector<double> class_labels;
};
Result<TrainingData> ReadTrainingData(const std::string& spec, const ReadOptions& options);
Result<Dataset> ReadLabelled(const std::string& path, const ReadOptions& options,
                             const std::vector<double>& class_labels, uint32_t features);

// A whole file, gunzipped if it is gzip. kNotFound, kDataError (truncated gzip), kResource.
Result<std::string> ReadFile(const std::string& path);

}  // namespace motley
