// SPDX-License-Identifier: Apache-2.0
// A trained model as a safetensors file (8-byte length, JSON header, raw little-endian data). The
// header's metadata have what is needed to use the model again. The reader is strict: tensors are
// sorted, without overlaps or holes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/models/model.h"

namespace motley {

struct SavedModel {
  ModelSpec spec;
  std::vector<double> class_labels;
  std::vector<float> parameters;
  float input_scale = 1;  // Factor that multiplied the features in training.
  std::string table;      // ToJson(TableSchema); empty: the data were not a table.
};

// Writes beside the target, syncs and renames. After a crash or on a full disk the old file stays.
Status SaveModel(const std::string& path, const SavedModel& model);
// The same for `parameters` from elsewhere, without a copy; `about` has no parameters.
Status SaveModel(const std::string& path, const SavedModel& about,
                 std::span<const float> parameters);
// Also loads PyTorch models that can be imported (see model_import.h). kNotFound. kDataError: not
// safetensors, wrong sizes, another model's tensors, or values that are not finite.
Result<SavedModel> LoadModel(const std::string& path);

}  // namespace motley
