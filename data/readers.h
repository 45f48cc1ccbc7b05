// SPDX-License-Identifier: Apache-2.0
// Reads data files: NumPy arrays (NPY, NPZ), safetensors, IDX (MNIST), LIBSVM text and CSV, all but
// NPZ also gzipped, and folders in MNIST's layout. The format is detected by content. Each file is
// read in one pass, in blocks. Samples that do not fit into memory go to an unnamed temporary file.
// Errors name the file and the line, sample or byte.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/data_source.h"
#include "data/dataset.h"
#include "data/tables/written_number.h"

namespace motley {

struct ReadOptions {
  // Label column of a CSV file, by name or index from 0. Empty: the only column named label,
  // target, class or y in any case, else the last.
  std::string label;
  bool regression = false;  // Labels are real numbers; otherwise they become classes.
  bool guess = false;  // Unless `regression` is set, the labels decide (see LabelCoder::Finish).
  bool two_classes = false;   // With `guess`: labels become classes only if there are two values.
  uint64_t memory_bytes = 0;  // Memory for features; 0: half of what is available.
  Unwanted unwanted;          // Reading ends with kCancelled once this returns true.
  // Classes that a model or an earlier run knows, ascending, and their names if they are texts (see
  // LabelCoder::Expect). Empty: none.
  std::vector<double> expected_classes;
  std::vector<std::string> expected_names;
  // CSV only: fields may be texts or missing, and are read as cells (table_reading.h). Null: all
  // fields are numbers.
  std::shared_ptr<class TableReading> table;
  // Arrays and CSV: samples with exactly this many values have no labels, and get NaN. 0: all
  // samples have labels.
  uint32_t unlabelled_features = 0;
};

// The files that `--data` names.
struct DataSpec {
  std::string path;
  std::string labels;  // NPY only: labels of `path`; empty: its last column.
  std::string test;    // Test data; empty: none.
  std::string test_labels;
};
// Parses "PATH[:labels=FILE][:test=FILE[:labels=FILE]]"; kInvalidArgument shows that form.
Result<DataSpec> ParseDataSpec(const std::string& spec);

struct OpenedData {
  std::shared_ptr<const DataSource> train;
  // Samples of test=FILE, the t10k files of an MNIST folder, or the test arrays of a file; null:
  // none.
  std::shared_ptr<const DataSource> test;
  std::vector<double> class_labels;      // The file's label of each class.
  std::vector<std::string> class_names;  // The same for labels that are texts; else empty.
  std::optional<NumberForm> label_form;  // See LabelMeaning.
  std::vector<std::string> names;        // Names of the features, if the file has them.
  std::vector<std::string> notes;        // Assumptions of the readers.
};

// Opens training data, and test data if there are any. Classes are the distinct labels of both,
// ascending. kNotFound: no such file. kDataError: truncated or wrongly labelled files, or values
// that are not finite numbers. kResource: memory or disk.
Result<OpenedData> OpenTrainingData(const std::string& spec, const ReadOptions& options);

// Opens samples for a model with known classes and features, for `motley predict`. `class_names` is
// set if the labels are texts. Uses the test part if `spec` has one. kDataError: a label or feature
// that the model does not have.
Result<std::shared_ptr<const DataSource>> OpenLabelled(
    const std::string& spec, const ReadOptions& options, const std::vector<double>& class_labels,
    uint32_t features, const std::vector<std::string>& class_names = {});

// Like OpenedData, all in memory.
struct TrainingData {
  Dataset train;
  std::optional<Dataset> test;
  std::vector<double> class_labels;
};
Result<TrainingData> ReadTrainingData(const std::string& spec, const ReadOptions& options);
Result<Dataset> ReadLabelled(const std::string& path, const ReadOptions& options,
                             const std::vector<double>& class_labels, uint32_t features);

// Reads a whole file and unpacks it if it is gzip. kNotFound, kDataError (truncated gzip),
// kResource.
Result<std::string> ReadFile(const std::string& path);

}  // namespace motley
