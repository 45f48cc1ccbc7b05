// SPDX-License-Identifier: Apache-2.0
// Writes a model's predictions to a file.
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
  uint64_t labelled = 0;  // Rows that have a label.
};

// kInvalidArgument: `wanted`, but the model has no probabilities.
Status CheckProbabilities(const Model& model, bool wanted);

// Writes a line or element for each sample: the name of its class, or a number in the units of the
// training labels. With `probabilities` a CSV line also has the probabilities of all classes, and
// an NPY file has only these, one row per sample. Computes on the device's thread, in blocks. On
// failure an older file stays. kResource: the file cannot be written.
Result<PredictionCount> WritePredictions(const PredictionRequest& request, const Model& model,
                                         const SavedModel& saved, const ModelData& data,
                                         Device& device);

}  // namespace motley
