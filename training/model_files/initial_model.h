// SPDX-License-Identifier: Apache-2.0
// A model file whose parameters a job begins with. The file is either from SaveModel, which also
// recorded how its data were read, or has PyTorch tensors for raw columns.
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
  // Errors are those of LoadModel.
  static Result<InitialModel> Read(const std::string& path);

  const std::string& path() const { return path_; }
  // The model if SaveModel wrote it; null for PyTorch tensors.
  const SavedModel* ours() const { return ours_ ? &*ours_ : nullptr; }
  // The model's name and outputs, as far as the file says them; see TorchShape.
  const TorchShape& shape() const { return shape_; }

  // The first parameters of the model `wanted`. Our own parameters are returned as they are; their
  // data must be scaled as before. PyTorch's are converted to the scaling of `wanted`, so that the
  // model answers as theirs did on raw columns. kDataError names the first tensor of another shape,
  // and the shape it should have.
  Result<std::vector<float>> ParametersFor(const SavedModel& wanted) const;

 private:
  std::string path_;
  TorchShape shape_;
  std::optional<SavedModel> ours_;
  std::string content_;  // The file, if it has PyTorch tensors.
};

}  // namespace motley
