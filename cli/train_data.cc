// SPDX-License-Identifier: Apache-2.0
#include "cli/train_data.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "fmt/core.h"
#include "training/readers.h"

namespace motley {
namespace {

ReadOptions OptionsFor(const std::string& label, const std::string& model) {
  ReadOptions options;
  options.label = label;
  options.regression = model == "linear";
  return options;
}

// Turns the class numbers of `data` (by `labels`) into the model's.
Status Relabel(const std::vector<double>& labels, const SavedModel& model, Dataset& data) {
  std::vector<float> index(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto& known = model.class_labels;
    const auto found = std::find(known.begin(), known.end(), labels[i]);
    if (found == known.end()) {
      return Status::DataError(fmt::format("label {} is none that the model knows", labels[i]));
    }
    index[i] = static_cast<float>(found - known.begin());
  }
  for (float& label : data.label) label = index[static_cast<size_t>(label)];
  data.classes = model.spec.classes;
  return Status::Ok();
}

Result<Dataset> ReadFolder(const std::string& path, const ReadOptions& options,
                           const SavedModel& model) {
  MOTLEY_ASSIGN_OR_RETURN(TrainingData read, ReadTrainingData(path, options));
  Dataset data = read.test ? std::move(*read.test) : std::move(read.train);
  if (data.features != model.spec.features) {
    return Status::DataError(fmt::format("{} has {} features, the model was trained on {}", path,
                                         data.features, model.spec.features));
  }
  if (!options.regression) {
    MOTLEY_RETURN_IF_ERROR(Relabel(read.class_labels, model, data).WithContext(path));
  }
  return data;
}

void FitScale(PreparedData& data) {
  const float largest = LargestMagnitude(data.train);
  if (!(largest > 1)) return;
  data.input_scale = 1 / largest;
  ScaleFeatures(data.train, data.input_scale);
  if (data.test) ScaleFeatures(*data.test, data.input_scale);
}

}  // namespace

Result<PreparedData> PrepareTrainingData(const std::string& spec, const std::string& label,
                                         const std::string& model, double split, uint64_t seed) {
  MOTLEY_ASSIGN_OR_RETURN(TrainingData read, ReadTrainingData(spec, OptionsFor(label, model)));
  PreparedData data;
  data.class_labels = std::move(read.class_labels);
  if (read.test) {
    if (split != 0) {
      return Status::InvalidArgument(fmt::format(
          "--split {}: {} brings test samples of its own. Leave --split out", split, spec));
    }
    data.train = std::move(read.train);
    data.test = std::move(read.test);
    FitScale(data);
    return data;
  }
  MOTLEY_ASSIGN_OR_RETURN(Split parts, SplitDataset(read.train, split != 0 ? split : 0.8, seed));
  data.train = std::move(parts.train);
  if (parts.test.rows() > 0) data.test = std::move(parts.test);
  FitScale(data);
  return data;
}

Result<Dataset> ReadForModel(const std::string& path, const std::string& label,
                             const SavedModel& model) {
  const ReadOptions options = OptionsFor(label, model.spec.name);
  std::error_code ignored;
  MOTLEY_ASSIGN_OR_RETURN(
      Dataset data, std::filesystem::is_directory(path, ignored)
                        ? ReadFolder(path, options, model)
                        : ReadLabelled(path, options, model.class_labels, model.spec.features));
  if (model.input_scale != 1) ScaleFeatures(data, model.input_scale);
  return data;
}

}  // namespace motley
