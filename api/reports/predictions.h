// SPDX-License-Identifier: Apache-2.0
// What a model says of samples, as a file.
#pragma once

#include <cstdint>
#include <string>

#include "api/request/train_data.h"
#include "base/status.h"
#include "devices/device.h"
#include "training/models/model.h"

namespace motley {

struct PredictionRequest {
  std::string out;  // "FILE.npy"; any other name is CSV, and "-" CSV on the standard output.
  bool probabilities = false;
};

struct PredictionCount {
  uint64_t rows = 0;
  uint64_t labelled = 0;  // Of these, rows that have a label.
};

// kInvalidArgument: probabilities of a model that has none.
Status CheckProbabilities(const Model& model, bool wanted);

// Writes a line or element for each sample: the class by its name, or a number in the units of the
// training labels; with `probabilities` also those of all classes (NPY: only them, one row each).
// On the device's thread, in blocks. On failure an older file stays. kResource: the disk.
Result<PredictionCount> WritePredictions(const PredictionRequest& request, const Model& model,
                                         const SavedModel& saved, const ModelData& data,
                                         Device& device);

}  // namespace motley
