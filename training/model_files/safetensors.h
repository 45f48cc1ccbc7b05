// SPDX-License-Identifier: Apache-2.0
// A trained model as a safetensors file (8-byte length, JSON header, raw little-endian data), with
// what is needed to use it again in the header's metadata. Strict: no overlaps, no holes, sorted.
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
  float input_scale = 1;  // Features were multiplied by it before the model saw them.
  std::string table;      // ToJson(TableSchema); empty: the data were no table.
};

// Writes beside the target, syncs and renames: a crash or a full disk leaves the old file.
Status SaveModel(const std::string& path, const SavedModel& model);
// The same with parameters from elsewhere, which are not copied; `about` has none of its own.
Status SaveModel(const std::string& path, const SavedModel& about,
                 std::span<const float> parameters);
// Also models of others, where they can be imported (see model_import.h).
// kNotFound; kDataError: not safetensors, wrong sizes, another model's tensors, non-finite values.
Result<SavedModel> LoadModel(const std::string& path);

}  // namespace motley
