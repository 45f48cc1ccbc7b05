// SPDX-License-Identifier: Apache-2.0
// The data of `motley train` and `motley predict`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/data_source.h"
#include "training/data_view.h"
#include "training/safetensors.h"

namespace motley {

struct PreparedData {
  std::shared_ptr<const DataSource> train;
  std::shared_ptr<const DataSource> test;        // Null: none.
  std::shared_ptr<const DataSource> validation;  // Null: none.
  std::vector<double> class_labels;
  float input_scale = 1;
  Magnitudes magnitudes;           // Before that, where it was asked for.
  std::vector<std::string> names;  // Of the features, where the data have them.
  std::vector<std::string> notes;  // What was taken for granted, as notices.
};

inline constexpr double kDefaultSplit = 0.8;
inline constexpr double kAllTrain = 1;  // A split that leaves no test samples.

// kAsTheyAre: for a trainer, whose owner decides.
enum class Features { kScaled, kAsTheyAre };

// Reads `spec` and, when it brings no test samples, splits it by `seed`: `split` trains (0: 0.8).
// Features larger than 1 are all divided by the largest magnitude among those that train, so that
// one learning rate suits pixels of any depth (training on raw 0..16 pixels at the default rate is
// chaotic: rounding in the order of sums grows to 1e-3 of the loss within 60 steps).
// Samples beyond `memory_bytes` (0: half of what is available) go to a file without a name in the
// folder for temporary files. Those that train are rounded to `storage`. kInvalidArgument for a
// split of data that has its own test samples, and for sparse ones of 16 bits; kCancelled when it
// is unwanted.
Result<PreparedData> PrepareTrainingData(const std::string& spec, const std::string& label,
                                         const std::string& model, double split, uint64_t seed,
                                         uint64_t memory_bytes = 0,
                                         const Unwanted& unwanted = nullptr,
                                         Features features = Features::kScaled,
                                         Storage storage = Storage::kFloat32);

// Moves a part of the samples that train, in (0, 1) and drawn by `seed`, to those that are held out
// for validation: at least one, and at least one stays.
Status HoldOut(double part, uint64_t seed, PreparedData& data);

// The samples to predict: a file, or a folder in MNIST's layout (its test samples), with the labels
// that the model knows, scaled as its training data were.
Result<std::shared_ptr<const DataSource>> ReadForModel(const std::string& path,
                                                       const std::string& label,
                                                       const SavedModel& model);

}  // namespace motley
