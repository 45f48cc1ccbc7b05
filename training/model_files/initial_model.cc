// SPDX-License-Identifier: Apache-2.0
#include "training/model_files/initial_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "data/files/file_io.h"
#include "data/formats/safetensors_header.h"
#include "training/model_files/model_metadata.h"
#include "training/model_files/raw_columns.h"
#include "training/models/architecture.h"

namespace motley {
namespace {

// Checks that two of our models have the same tensors; `has` is the file's.
Status CheckSameShapes(const ModelSpec& has, const ModelSpec& wanted) {
  MOTLEY_ASSIGN_OR_RETURN(const auto model, Model::Create(has));
  MOTLEY_ASSIGN_OR_RETURN(const auto other, Model::Create(wanted));
  const std::string name = DescribeSpec(wanted);
  for (size_t i = 0; i < other->ranges().size(); ++i) {
    const ParameterRange& want = other->ranges()[i];
    const auto shape = [](const ParameterRange& range) {
      return fmt::format("({})", fmt::join(range.shape, ", "));
    };
    if (i == model->ranges().size() || model->ranges()[i].name != want.name) {
      return Status::DataError(
          fmt::format("has no '{}', which {} needs: {}", want.name, name, shape(want)));
    }
    const ParameterRange& range = model->ranges()[i];
    if (range.shape == want.shape) continue;
    return Status::DataError(
        fmt::format("'{}' is {}, and {} needs {}", range.name, shape(range), name, shape(want)));
  }
  if (model->ranges().size() == other->ranges().size()) return Status::Ok();
  return Status::DataError(fmt::format("has '{}', and {} has only {}",
                                       model->ranges()[other->ranges().size()].name, name,
                                       Counted(other->ranges().size(), "tensor")));
}

}  // namespace

Result<InitialModel> InitialModel::Read(const std::string& path) {
  InitialModel initial;
  initial.path_ = path;
  MOTLEY_ASSIGN_OR_RETURN(initial.content_, ReadRawFile(path));
  const auto header = ParseSafetensorsHeader(initial.content_);
  if (!header.ok()) return header.status().WithContext(path);
  if (IsForeignModel(*header) && header->metadata.count(kTorchModel) == 0) {
    const auto shape = ShapeOf(*header);
    if (!shape.ok()) return shape.status().WithContext(path);
    initial.shape_ = *shape;
    return initial;
  }
  std::string().swap(initial.content_);  // Frees a copy as large as the model, which is read again.
  MOTLEY_ASSIGN_OR_RETURN(initial.ours_, LoadModel(path));
  const ModelSpec& spec = initial.ours_->spec;
  initial.shape_ = {.name = spec.name, .outputs = spec.classes};
  return initial;
}

Result<std::vector<float>> InitialModel::ParametersFor(const SavedModel& wanted) const {
  if (ours_) {
    const Status same = CheckSameShapes(ours_->spec, wanted.spec);
    if (!same.ok()) return same.WithContext(path_);
    return ours_->parameters;
  }
  MOTLEY_ASSIGN_OR_RETURN(const SafetensorsHeader header, ParseSafetensorsHeader(content_));
  auto parameters =
      ImportParameters(header, std::string_view(content_).substr(header.data_begin), wanted.spec);
  if (!parameters.ok()) return parameters.status().WithContext(path_);
  MOTLEY_RETURN_IF_ERROR(UnfoldScaling(wanted, *parameters).WithContext(path_));
  const auto finite = [](float value) { return std::isfinite(value); };
  if (std::all_of(parameters->begin(), parameters->end(), finite)) return parameters;
  return Status::DataError(
      fmt::format("{}: its parameters are too large for floats once columns are "
                  "standardised. Use `scale` none, or scale the columns to similar sizes",
                  path_));
}

}  // namespace motley
