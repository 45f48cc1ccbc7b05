// SPDX-License-Identifier: Apache-2.0
#include "training/model_files/safetensors.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/suggest.h"
#include "data/files/file_io.h"
#include "data/formats/safetensors_header.h"
#include "data/tables/table_schema.h"
#include "training/model_files/model_format.h"
#include "training/model_files/model_import.h"
#include "training/model_files/model_metadata.h"
#include "training/model_files/raw_columns.h"
#include "training/model_files/torch_tensors.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

// The header as text, padded with blanks so that the data are aligned to 8 bytes.
std::string MakeHeader(const SavedModel& saved, ModelFormat format,
                       const std::vector<std::pair<std::string, Json>>& shapes) {
  const bool torch = format == ModelFormat::kTorch;
  Json header;
  header["__metadata__"] = {{"format", torch ? "pt" : "motley"},
                            {torch ? kTorchModel : "model", saved.spec.name},
                            {"features", std::to_string(saved.spec.features)},
                            {"classes", std::to_string(saved.spec.classes)},
                            {"class_labels", Json(saved.class_labels).dump()},
                            {"input_scale", Json(saved.input_scale).dump()}};
  if (!saved.table.empty()) header["__metadata__"]["table"] = saved.table;
  size_t begin = 0;
  for (const auto& [name, shape] : shapes) {
    size_t end = begin + sizeof(float);
    for (const Json& extent : shape) end = begin + (end - begin) * extent.get<size_t>();
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

Status CheckFinite(std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return Status::DataError(fmt::format("parameter {} is not a finite number", i));
    }
  }
  return Status::Ok();
}

// Copies each of the model's tensors from its place in the file.
Status TakeTensors(const SafetensorsHeader& header, std::string_view data, const Model& model,
                   std::vector<float>& parameters) {
  parameters.resize(model.parameter_count());
  for (const ParameterRange& range : model.ranges()) {
    const auto found = header.tensors.find(range.name);
    if (found == header.tensors.end()) {
      return Status::DataError(
          fmt::format("has no tensor '{}' as {} needs", range.name, model.spec().name));
    }
    const TensorInfo& tensor = found->second;
    if (tensor.dtype != "F32" || !std::equal(range.shape.begin(), range.shape.end(),
                                             tensor.shape.begin(), tensor.shape.end())) {
      return Status::DataError(fmt::format("tensor '{}' is not F32 of the shape that {} needs",
                                           range.name, model.spec().name));
    }
    // The header was checked, so F32 of this shape has exactly this many bytes.
    std::memcpy(parameters.data() + range.offset, data.data() + tensor.begin,
                range.count * sizeof(float));
  }
  if (header.tensors.size() != model.ranges().size()) {
    return Status::DataError(fmt::format("has {} tensors where {} has {}", header.tensors.size(),
                                         model.spec().name, model.ranges().size()));
  }
  return CheckFinite(parameters);
}

Status CheckClassLabels(const SavedModel& saved) {
  if (saved.class_labels.size() != saved.spec.classes) {
    return Status::DataError(fmt::format("has {} class labels for {} classes",
                                         saved.class_labels.size(), saved.spec.classes));
  }
  for (size_t i = 0; i < saved.class_labels.size(); ++i) {
    const bool ascends = i == 0 || saved.class_labels[i] > saved.class_labels[i - 1];
    if (!std::isfinite(saved.class_labels[i]) || !ascends) {
      return Status::DataError("has class labels that are not ascending numbers");
    }
  }
  return Status::Ok();
}

// Checks that the description of the table fits the model.
Status CheckTable(const SavedModel& saved) {
  if (saved.table.empty()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(const TableSchema table, ParseTableSchema(saved.table));
  const bool fits = (table.target_only() || table.features() == saved.spec.features) &&
                    table.regression == (saved.spec.classes == 0) &&
                    (table.classes.empty() || table.classes.size() == saved.spec.classes);
  if (fits) return Status::Ok();
  return Status::DataError(fmt::format(
      "describes a table of {} features and {} classes, which is not what the model takes",
      table.features(), table.classes.size()));
}

// Everything but the parameters.
Result<SavedModel> ParseAbout(const SafetensorsHeader& header) {
  SavedModel saved;
  MOTLEY_ASSIGN_OR_RETURN(saved.spec, SpecFromMetadata(header.metadata));
  MOTLEY_ASSIGN_OR_RETURN(saved.class_labels, ClassLabelsFromMetadata(header.metadata));
  MOTLEY_RETURN_IF_ERROR(CheckClassLabels(saved));
  MOTLEY_ASSIGN_OR_RETURN(saved.input_scale, InputScaleFromMetadata(header.metadata));
  if (const auto table = header.metadata.find("table"); table != header.metadata.end()) {
    saved.table = table->second;
    MOTLEY_RETURN_IF_ERROR(CheckTable(saved));
  }
  return saved;
}

Result<SavedModel> ParseModel(const std::string& content) {
  MOTLEY_ASSIGN_OR_RETURN(const SafetensorsHeader header, ParseSafetensorsHeader(content));
  const std::string_view data = std::string_view(content).substr(header.data_begin);
  const bool torch = header.metadata.count(kTorchModel) != 0;
  if (!torch && IsForeignModel(header)) return ImportModel(header, data);
  MOTLEY_ASSIGN_OR_RETURN(SavedModel saved, ParseAbout(header));
  const auto model = Model::Create(saved.spec);
  if (!model.ok())
    return Status::DataError("does not name a usable model: " + model.status().ToString());
  if ((*model)->parameter_count() * sizeof(float) != data.size()) {
    return Status::DataError(fmt::format("has {} bytes of tensors where {} has {} parameters",
                                         data.size(), saved.spec.name,
                                         (*model)->parameter_count()));
  }
  if (torch) {
    MOTLEY_ASSIGN_OR_RETURN(saved.parameters, ImportParameters(header, data, saved.spec));
    const Status unfolded = UnfoldScaling(saved, saved.parameters);
    if (!unfolded.ok()) return Status::DataError(unfolded.message());
    MOTLEY_RETURN_IF_ERROR(CheckFinite(saved.parameters));
    return saved;
  }
  MOTLEY_RETURN_IF_ERROR(TakeTensors(header, data, **model, saved.parameters));
  return saved;
}

// Refuses to write what LoadModel would refuse.
Status CheckSaved(const std::string& path, const SavedModel& saved,
                  std::span<const float> parameters) {
  for (const Status& status : {CheckClassLabels(saved), CheckFinite(parameters)}) {
    if (!status.ok()) {
      return Status::InvalidArgument(path + ": the model to save " + status.message());
    }
  }
  return Status::Ok();
}

Status Write(const std::string& path, const std::string& header,
             std::span<const float> parameters) {
  const uint64_t header_size = header.size();
  const BytesView pieces[] = {AsBytes(std::span<const uint64_t>(&header_size, 1)), AsBytes(header),
                              AsBytes(parameters)};
  return WriteFileAtomically(path, pieces);
}

Status SaveForTorch(const std::string& path, const SavedModel& saved,
                    std::span<const float> parameters) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<TorchTensor> tensors, TorchTensors(saved.spec));
  std::vector<float> raw(parameters.begin(), parameters.end());
  MOTLEY_RETURN_IF_ERROR(FoldScaling(saved, raw));
  MOTLEY_RETURN_IF_ERROR(CheckSaved(path, saved, raw));
  std::vector<float> theirs(raw.size());
  std::vector<std::pair<std::string, Json>> shapes;
  for (const TorchTensor& tensor : tensors) {
    ToTorch(tensor, raw, std::span<float>(theirs).subspan(tensor.offset, tensor.count()));
    shapes.emplace_back(tensor.name, tensor.shape);
  }
  return Write(path, MakeHeader(saved, ModelFormat::kTorch, shapes), theirs);
}

}  // namespace

Result<ModelFormat> ParseModelFormat(const std::string& name) {
  if (name.empty()) return ModelFormat::kMotley;
  MOTLEY_RETURN_IF_ERROR(CheckChoice("`format`", name, {"motley", "torch"}));
  return name == "torch" ? ModelFormat::kTorch : ModelFormat::kMotley;
}

Status CheckFormat(const SavedModel& about, ModelFormat format) {
  if (format == ModelFormat::kMotley) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(TorchTensors(about.spec).status().WithContext("`format` torch"));
  return CheckFoldable(about).WithContext("`format` torch");
}

Status SaveModel(const std::string& path, const SavedModel& saved) {
  return SaveModel(path, saved, saved.parameters, ModelFormat::kMotley);
}

Status SaveModel(const std::string& path, const SavedModel& saved,
                 std::span<const float> parameters) {
  return SaveModel(path, saved, parameters, ModelFormat::kMotley);
}

Status SaveModel(const std::string& path, const SavedModel& saved,
                 std::span<const float> parameters, ModelFormat format) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, Model::Create(saved.spec));
  if (parameters.size() != model->parameter_count()) {
    return Status::InvalidArgument(fmt::format("{} has {} parameters, not {}", saved.spec.name,
                                               model->parameter_count(), parameters.size()));
  }
  MOTLEY_RETURN_IF_ERROR(CheckSaved(path, saved, parameters));
  if (format == ModelFormat::kTorch) {
    return WithinMemory(path, [&] { return SaveForTorch(path, saved, parameters); });
  }
  std::vector<std::pair<std::string, Json>> shapes;
  for (const ParameterRange& range : model->ranges()) shapes.emplace_back(range.name, range.shape);
  return Write(path, MakeHeader(saved, format, shapes), parameters);
}

Result<SavedModel> LoadModel(const std::string& path) {
  return WithinMemory(path, [&]() -> Result<SavedModel> {
    MOTLEY_ASSIGN_OR_RETURN(const std::string content, ReadRawFile(path));
    Result<SavedModel> saved = ParseModel(content);
    if (!saved.ok()) return saved.status().WithContext(path);
    return saved;
  });
}

}  // namespace motley
