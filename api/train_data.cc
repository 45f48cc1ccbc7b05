// SPDX-License-Identifier: Apache-2.0
#include "api/train_data.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "fmt/core.h"
#include "training/data_view.h"
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

std::shared_ptr<const DataSource> Keep(Dataset data) {
  return std::make_shared<const MemorySource>(std::move(data));
}

}  // namespace

Result<PreparedData> PrepareTrainingData(const std::string& spec, const std::string& label,
                                         const std::string& model, double split, uint64_t seed,
                                         uint64_t /*memory_bytes*/) {
  MOTLEY_ASSIGN_OR_RETURN(TrainingData read, ReadTrainingData(spec, OptionsFor(label, model)));
  if (read.test && split != 0 && split != kAllTrain) {
    return Status::InvalidArgument(fmt::format(
        "`split` {}: {} brings test samples of its own. Leave `split` out", split, spec));
  }
  PreparedData data;
  data.class_labels = std::move(read.class_labels);
  const std::shared_ptr<const DataSource> all = Keep(std::move(read.train));
  std::optional<std::vector<uint32_t>> train_rows;
  std::optional<std::vector<uint32_t>> test_rows;
  if (!read.test && split != kAllTrain) {
    MOTLEY_ASSIGN_OR_RETURN(SplitRows rows,
                            CutRows(all->shape().rows, split != 0 ? split : 0.8, seed));
    train_rows = std::move(rows.train);
    test_rows = std::move(rows.test);
  }
  MOTLEY_ASSIGN_OR_RETURN(const float largest, LargestMagnitude(*all, train_rows));
  if (largest > 1) data.input_scale = 1 / largest;
  data.test = std::make_shared<const DataView>(read.test ? Keep(*std::move(read.test)) : all,
                                               std::move(test_rows), data.input_scale);
  data.train = std::make_shared<const DataView>(all, std::move(train_rows), data.input_scale);
  return data;
}

Result<std::shared_ptr<const DataSource>> ReadForModel(const std::string& path,
                                                       const std::string& label,
                                                       const SavedModel& model) {
  const ReadOptions options = OptionsFor(label, model.spec.name);
  std::error_code ignored;
  MOTLEY_ASSIGN_OR_RETURN(
      Dataset data, std::filesystem::is_directory(path, ignored)
                        ? ReadFolder(path, options, model)
                        : ReadLabelled(path, options, model.class_labels, model.spec.features));
  return std::shared_ptr<const DataSource>(
      std::make_shared<const DataView>(Keep(std::move(data)), std::nullopt, model.input_scale));
}

}  // namespace motley
