// SPDX-License-Identifier: Apache-2.0
// A model file whose parameters a job begins with: one that SaveModel wrote, which also says how
// its data were read, or PyTorch's tensors, which are of raw columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/model_files/model_import.h"
#include "training/model_files/safetensors.h"

namespace motley {

class InitialModel {
 public:
  // Errors as of LoadModel.
  static Result<InitialModel> Read(const std::string& path);

  const std::string& path() const { return path_; }
  // Null: it is of others.
  const SavedModel* ours() const { return ours_ ? &*ours_ : nullptr; }
  // Its name and outputs as far as it says them; see TorchShape.
  const TorchShape& shape() const { return shape_; }

  // The first parameters of the model `wanted`, whose features are scaled as it says: ours as they
  // are (its data must have been scaled as ours were), those of others so that the model answers as
  // theirs did to raw columns. kDataError names the first tensor of another shape, and what it
  // should be.
  Result<std::vector<float>> ParametersFor(const SavedModel& wanted) const;

 private:
  std::string path_;
  TorchShape shape_;
  std::optional<SavedModel> ours_;
  std::string content_;  // Of others.
};

}  // namespace motley
