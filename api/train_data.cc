// SPDX-License-Identifier: Apache-2.0
#include "api/train_data.h"

#include <algorithm>
#include <utility>

#include "fmt/core.h"
#include "training/model_data.h"

namespace motley {
Result<PreparedData> PrepareTrainingData(const std::string& spec, const std::string& label,
                                         const std::string& model, double split, uint64_t seed,
                                         uint64_t memory_bytes, const Unwanted& unwanted,
                                         Features features, Storage storage) {
  ReadOptions options;
  options.label = label;
  options.memory_bytes = memory_bytes;
  options.unwanted = unwanted;
  MOTLEY_ASSIGN_OR_RETURN(OpenedData read, OpenDataFor(model, spec, options));
  if (read.test != nullptr && split != 0 && split != kAllTrain) {
    return Status::InvalidArgument(fmt::format(
        "`split` {}: {} brings test samples of its own. Leave `split` out", split, spec));
  }
  if (read.train->shape().sparse && storage != Storage::kFloat32) {
    return Status::InvalidArgument(fmt::format(
        "`storage` {}: it is for dense samples, and those of {} are sparse. Leave `storage` out",
        NameOf(storage), spec));
  }
  PreparedData data;
  data.class_labels = std::move(read.class_labels);
  data.names = std::move(read.names);
  data.notes = std::move(read.notes);
  const std::shared_ptr<const DataSource> all = read.train;
  std::optional<std::vector<uint32_t>> train_rows;
  std::optional<std::vector<uint32_t>> test_rows;
  if (!read.test && split != kAllTrain) {
    MOTLEY_ASSIGN_OR_RETURN(SplitRows rows,
                            CutRows(all->shape().rows, split != 0 ? split : kDefaultSplit, seed));
    train_rows = std::move(rows.train);
    test_rows = std::move(rows.test);
  }
  if (features == Features::kScaled) {
    MOTLEY_ASSIGN_OR_RETURN(data.magnitudes, MeasureMagnitudes(*all, train_rows, unwanted));
    if (data.magnitudes.largest > 1) data.input_scale = 1 / data.magnitudes.largest;
  }
  data.test = std::make_shared<const DataView>(read.test != nullptr ? read.test : all,
                                               std::move(test_rows), data.input_scale);
  data.train =
      std::make_shared<const DataView>(all, std::move(train_rows), data.input_scale, storage);
  return data;
}

Status HoldOut(double part, uint64_t seed, PreparedData& data) {
  constexpr uint64_t kOtherDraw = 0x76616c;  // Not that of the test samples.
  MOTLEY_ASSIGN_OR_RETURN(SplitRows rows,
                          CutRows(data.train->shape().rows, 1 - part, seed ^ kOtherDraw));
  const std::shared_ptr<const DataSource> all = data.train;
  // In the order in which they are stored, which is how they are read best.
  std::sort(rows.train.begin(), rows.train.end());
  data.train =
      std::make_shared<const DataView>(all, std::move(rows.train), 1.0f, all->shape().storage);
  data.validation =
      std::make_shared<const DataView>(all, std::move(rows.test), 1.0f, all->shape().storage);
  return Status::Ok();
}

Result<std::shared_ptr<const DataSource>> ReadForModel(const std::string& path,
                                                       const std::string& label,
                                                       const SavedModel& model) {
  ReadOptions options;
  options.label = label;
  options.regression = model.spec.classes == 0;
  MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<const DataSource> data,
                          OpenLabelled(path, options, model.class_labels, model.spec.features));
  return std::shared_ptr<const DataSource>(
      std::make_shared<const DataView>(std::move(data), std::nullopt, model.input_scale));
}

}  // namespace motley
