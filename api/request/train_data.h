// SPDX-License-Identifier: Apache-2.0
// The data of `motley train` and `motley predict`.
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
  Magnitudes magnitudes;           // Before that, where it was asked for.
  std::vector<std::string> names;  // Of the features, where the data have them.
  std::vector<std::string> notes;  // What was taken for granted, as notices.

  // Of a model's squared loss, in the squared units of the labels; of others 1.
  double loss_unit() const { return table != nullptr ? table->loss_unit() : 1; }
};

inline constexpr double kDefaultSplit = 0.8;
inline constexpr double kAllTrain = 1;  // A split that leaves no test samples.

// kAsTheyAre: for a trainer. Labels stay as they are, and features unless the request has a scale.
enum class Features { kScaled, kAsTheyAre };

struct DataRequest {
  std::string spec;
  std::string label;
  std::string model;  // Empty: one that fits the labels will be taken.
  LabelTask task = LabelTask::kGuess;
  TableOptions table;
  std::shared_ptr<const TableSchema> known;  // Read the table so, and learn nothing; null: learn.
  // Where `known`, `input_scale` and `class_labels` come from.
  KnownFrom known_from = KnownFrom::kCheckpoint;
  std::optional<float> input_scale;  // Of features, instead of one that is measured.
  std::vector<double> class_labels;  // As ReadOptions::expected_classes, with the next.
  std::vector<std::string> class_names;
  bool only_numbers = false;  // CSV is no table: as older Motleys read it.
  double split = 0;           // 0: 0.8.
  uint64_t seed = 0;
  uint64_t memory_bytes = 0;  // 0: half of what is available.
  Unwanted unwanted;
  Features features = Features::kScaled;
  Storage storage = Storage::kFloat32;
  // Which part of these samples, which are to train, is held out for validation instead: in (0, 1),
  // or 0. Nothing is learned from it. Empty: none.
  std::function<Result<double>(const DataShape& train)> hold_out;
};

// Reads `spec` and, when it brings no test samples, splits it by `seed`: `split` trains, but for
// the part that is held out, which `seed` draws as well: at least one, and at least one stays. A
// table (CSV) is encoded as its training samples teach (table_view.h). Of other data, features
// larger than 1 are all divided by the largest magnitude among those that train, so that one
// learning rate suits pixels of any depth (training on raw 0..16 pixels at the default rate is
// chaotic: rounding in the order of sums grows to 1e-3 of the loss within 60 steps). Samples beyond
// `memory_bytes` go to a file without a name in the folder for temporary files. Those that train
// are rounded to `storage`. kInvalidArgument for a split of data that has its own test samples, and
// for sparse ones of 16 bits; kCancelled when it is unwanted.
Result<PreparedData> PrepareTrainingData(const DataRequest& request);

// The samples to predict: a file, or a folder in MNIST's layout (its test samples), encoded and
// scaled as the model's training data were. Samples may come without labels, which are NaN then;
// others are those that the model knows.
struct ModelData {
  std::shared_ptr<const DataSource> samples;
  std::shared_ptr<const TableSchema> table;  // Null: the model was not trained on a table.
  std::vector<std::string> notes;
};
Result<ModelData> ReadForModel(const std::string& path, const std::string& label,
                               const SavedModel& model);

// The names of a model's classes, as its training data had them; none: it is for real numbers.
std::vector<std::string> ClassNames(const std::vector<double>& labels, const TableSchema* table);

}  // namespace motley
