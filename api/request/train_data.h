// SPDX-License-Identifier: Apache-2.0
// Reads the data of `motley train` and `motley predict`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/data_source.h"
#include "data/data_view.h"
#include "data/tables/table_view.h"
#include "training/model_files/safetensors.h"
#include "training/models/model_data.h"

namespace motley {

struct PreparedData {
  std::shared_ptr<const DataSource> train;
  std::shared_ptr<const DataSource> test;        // Null: none.
  std::shared_ptr<const DataSource> validation;  // Null: none.
  std::vector<double> class_labels;
  std::shared_ptr<const TableSchema> table;  // Null: the data are no table.
  float input_scale = 1;
  Magnitudes magnitudes;           // Feature magnitudes before scaling, if requested.
  std::vector<std::string> names;  // Feature names, if the data have some.
  std::vector<std::string> notes;  // Assumptions, as notices.

  // One unit of a squared-error model's loss, in squared units of the labels; 1 for other models.
  double loss_unit() const { return table != nullptr ? table->loss_unit() : 1; }
};

inline constexpr double kDefaultSplit = 0.8;
inline constexpr double kAllTrain = 1;  // A split without test samples.

// kAsTheyAre is for trainers: labels stay as they are, and so do features unless the request has a
// scale.
enum class Features { kScaled, kAsTheyAre };

struct DataRequest {
  std::string spec;
  std::string label;
  std::string model;  // Empty: one that fits the labels.
  LabelTask task = LabelTask::kGuess;
  TableOptions table;
  std::shared_ptr<const TableSchema> known;  // Encoding of the table; null: learned from it.
  // The origin of `known`, `input_scale` and `class_labels`.
  KnownFrom known_from = KnownFrom::kCheckpoint;
  std::optional<float> input_scale;  // For features; empty: measured.
  std::vector<double> class_labels;  // See ReadOptions::expected_classes.
  std::vector<std::string> class_names;
  bool only_numbers = false;  // Read CSV as plain numbers, like older releases.
  double split = 0;           // 0: 0.8.
  uint64_t seed = 0;
  uint64_t memory_bytes = 0;  // 0: half of the available memory.
  Unwanted unwanted;
  Features features = Features::kScaled;
  Storage storage = Storage::kFloat32;
  // Returns the fraction of the training samples to hold out for validation: 0, or in (0, 1).
  // Nothing is learned from these samples. Empty: none are held out.
  std::function<Result<double>(const DataShape& train)> hold_out;
};

// Reads `spec`. If it has no test samples, `seed` draws them: the fraction `split` trains. `seed`
// also draws the samples that are held out. Each part keeps at least one sample. A table (CSV) is
// encoded as its training samples teach (table_view.h). Features of other data that exceed 1 are
// all divided by the largest magnitude in the training samples. So one learning rate suits pixels
// of any depth; training on raw pixels from 0 to 16 at the default rate is chaotic (rounding in the
// order of sums grows to 1e-3 of the loss within 60 steps). Samples beyond `memory_bytes` go to an
// unnamed file in the folder for temporary files. Training samples are rounded to `storage`.
// kInvalidArgument: a split of data that have their own test samples, or sparse samples of 16 bits.
// kCancelled: `unwanted` returned true.
Result<PreparedData> PrepareTrainingData(const DataRequest& request);

// The samples to predict. They come from a file, or from a folder in MNIST's layout (its test
// samples), and are encoded and scaled like the model's training data. Missing labels are NaN; all
// others are known to the model.
struct ModelData {
  std::shared_ptr<const DataSource> samples;
  std::shared_ptr<const TableSchema> table;  // Null: the model was not trained on a table.
  std::vector<std::string> notes;
};
Result<ModelData> ReadForModel(const std::string& path, const std::string& label,
                               const SavedModel& model);

// The names of a model's classes in its training data; empty for a model of real numbers.
std::vector<std::string> ClassNames(const std::vector<double>& labels, const TableSchema* table);

}  // namespace motley
