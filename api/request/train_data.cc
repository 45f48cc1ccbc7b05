// SPDX-License-Identifier: Apache-2.0
#include "api/request/train_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "data/files/text_scan.h"

namespace motley {
namespace {

// The options for a trainer leave labels as they are. They also leave features unscaled, unless the
// program names a scale.
TableOptions TableOptionsOf(const DataRequest& request) {
  TableOptions options = request.table;
  if (request.features == Features::kScaled) return options;
  options.standard_target = false;
  if (!options.scale_given) {
    options.scale = TableScale::kNone;
    options.scale_given = true;
  }
  return options;
}

// The way to read the request's table, if it has one.
std::shared_ptr<TableReading> ReadingFor(const DataRequest& request) {
  if (request.known != nullptr) {
    return std::make_shared<TableReading>(request.known, request.known_from);
  }
  return std::make_shared<TableReading>(TableOptionsOf(request));
}

// A text like "label 'species': 3 classes, setosa, versicolor, virginica".
std::string DescribeLabels(const DataRequest& request, const PreparedData& data) {
  constexpr size_t kShown = 6;
  const TableSchema& table = *data.table;
  const std::string label = table.named
                                ? fmt::format("label {}", Quoted(table.label))
                                : fmt::format("label (column {} from 0)", table.label_position);
  const std::string otherwise =
      request.task == LabelTask::kGuess && request.model.empty() ? "; `task` says otherwise" : "";
  if (table.regression) return fmt::format("{}: real numbers{}", label, otherwise);
  std::vector<std::string> names = ClassNames(data.class_labels, &table);
  const size_t count = names.size();
  if (count > kShown) names.resize(kShown);
  return fmt::format("{}: {} classes, {}{}{}", label, count, fmt::join(names, ", "),
                     count > kShown ? ", ..." : "", otherwise);
}

// Reports that the samples do not fit `known` or the known classes.
Status OtherData(const DataRequest& request, const std::string& what) {
  if (request.known_from == KnownFrom::kCheckpoint) {
    return Status::Conflict(what +
                            " the checkpoint's job: give `data` of that job, or start a new job in "
                            "another folder");
  }
  return Status::DataError(what +
                           " the model of `init`: give `data` that it is for, or leave "
                           "`init` out");
}

// Encodes `train` and `test`. `reading` understands their cells.
Status EncodeTable(const DataRequest& request, const TableReading& reading, const OpenedData& read,
                   const std::optional<std::vector<uint32_t>>& train_rows, PreparedData& data,
                   std::shared_ptr<const DataSource>& train,
                   std::shared_ptr<const DataSource>& test) {
  // A resumed job knows its columns. Files that are no tables were not checked against them when
  // they were read.
  const DataShape cells = train->shape();
  const bool target_only = request.known != nullptr && request.known->target_only();
  if (!target_only && (cells.sparse || cells.features != reading.columns().size())) {
    return OtherData(request,
                     fmt::format("{} has {} of features{}, and there are {} in the data of",
                                 request.spec, Counted(cells.features, "column"),
                                 cells.sparse ? ", sparse" : "", reading.columns().size()));
  }
  if (request.known != nullptr && read.class_names != request.known->classes) {
    return OtherData(request,
                     fmt::format("the labels of {} are others than those of", request.spec));
  }
  if (request.known != nullptr) {
    data.table = request.known;
  } else {
    MOTLEY_ASSIGN_OR_RETURN(
        LearnedTable learned,
        LearnTable(reading, *read.train, train_rows, read.class_labels.empty(), request.unwanted));
    learned.schema.classes = read.class_names;
    learned.schema.label_form = read.label_form;
    data.table = std::make_shared<const TableSchema>(std::move(learned.schema));
    data.notes.push_back(DescribeLabels(request, data));
    for (std::string& note : learned.notes) data.notes.push_back(std::move(note));
  }
  data.names = data.table->named ? data.table->FeatureNames() : std::vector<std::string>();
  const bool both = train == test;
  train = std::make_shared<const TableView>(train, data.table, reading);
  test = both ? train : std::make_shared<const TableView>(test, data.table, reading);
  return Status::Ok();
}

// Scales real targets of samples outside tables like targets of tables.
Status ScaleTarget(const DataRequest& request,
                   const std::optional<std::vector<uint32_t>>& train_rows, PreparedData& data,
                   std::shared_ptr<const DataSource>& train,
                   std::shared_ptr<const DataSource>& test) {
  if (request.known != nullptr) {
    if (!data.class_labels.empty()) {
      return OtherData(request, fmt::format("{} has classes, unlike the data of", request.spec));
    }
    data.table = request.known;
  } else {
    const bool as_it_is = request.only_numbers || request.features == Features::kAsTheyAre ||
                          request.table.scale_given || !data.class_labels.empty();
    if (as_it_is) return Status::Ok();
    MOTLEY_ASSIGN_OR_RETURN(
        LearnedTable learned,
        LearnTarget(*train, train_rows, TableScale::kLargest, request.unwanted));
    data.table = std::make_shared<const TableSchema>(std::move(learned.schema));
    for (std::string& note : learned.notes) data.notes.push_back(std::move(note));
  }
  const TableReading none{TableOptions{}};
  const bool both = train == test;
  train = std::make_shared<const TableView>(train, data.table, none);
  test = both ? train : std::make_shared<const TableView>(test, data.table, none);
  return Status::Ok();
}

// Moves held-out rows, if any are requested, out of the training rows (`train_rows`, or all rows of
// `shape`).
Result<std::optional<std::vector<uint32_t>>> HoldOut(
    const DataRequest& request, DataShape shape, std::optional<std::vector<uint32_t>>& train_rows) {
  constexpr uint64_t kOtherDraw = 0x76616c;  // Differs from the draw of the test samples.
  if (train_rows) shape.rows = train_rows->size();
  MOTLEY_ASSIGN_OR_RETURN(const double part, request.hold_out(shape));
  if (part <= 0) return std::optional<std::vector<uint32_t>>();
  MOTLEY_ASSIGN_OR_RETURN(SplitRows rows, CutRows(shape.rows, 1 - part, request.seed ^ kOtherDraw));
  // Reading is fastest in the order of storage.
  std::sort(rows.train.begin(), rows.train.end());
  if (train_rows) {
    for (std::vector<uint32_t>* part_of : {&rows.train, &rows.test}) {
      for (uint32_t& row : *part_of) row = (*train_rows)[row];
    }
  }
  train_rows = std::move(rows.train);
  return std::optional(std::move(rows.test));
}

bool StandardAsked(const DataRequest& request) {
  return request.table.scale_given && request.table.scale == TableScale::kStandard;
}

// Checks that the data support the request.
Status CheckRead(const DataRequest& request, const OpenedData& read) {
  const double split = request.split;
  if (read.test != nullptr && split != 0 && split != kAllTrain) {
    return Status::InvalidArgument(fmt::format(
        "`split` {}: {} brings test samples of its own. Leave `split` out", split, request.spec));
  }
  if (!request.class_labels.empty() && request.known_from != KnownFrom::kCheckpoint &&
      (read.class_labels != request.class_labels || read.class_names != request.class_names)) {
    return OtherData(request, fmt::format("the labels of {} are not all among the {} classes of",
                                          request.spec, request.class_labels.size()));
  }
  const bool sparse = read.train->shape().sparse;
  if (sparse && request.storage != Storage::kFloat32) {
    return Status::InvalidArgument(fmt::format(
        "`storage` {}: it is for dense samples, and those of {} are sparse. Leave `storage` out",
        NameOf(request.storage), request.spec));
  }
  if (sparse && StandardAsked(request)) {
    return Status::InvalidArgument(fmt::format(
        "`scale` standard: it would fill the zeros of sparse samples, like those of {}. Use "
        "`scale` largest or none",
        request.spec));
  }
  return Status::Ok();
}

}  // namespace

std::vector<std::string> ClassNames(const std::vector<double>& labels, const TableSchema* table) {
  if (table != nullptr && !table->classes.empty()) return table->classes;
  std::vector<std::string> names;
  for (const double label : labels) names.push_back(fmt::format("{}", label));
  return names;
}

Result<PreparedData> PrepareTrainingData(const DataRequest& request) {
  ReadOptions options;
  options.label = request.label;
  options.memory_bytes = request.memory_bytes;
  options.unwanted = request.unwanted;
  const bool target_only = request.known != nullptr && request.known->target_only();
  if (!request.only_numbers && !target_only) options.table = ReadingFor(request);
  options.expected_classes = request.class_labels;
  options.expected_names = request.class_names;
  LabelTask task = request.task;
  if (request.known != nullptr) {
    task = request.known->regression ? LabelTask::kRegress : LabelTask::kClassify;
  }
  MOTLEY_ASSIGN_OR_RETURN(OpenedData read, OpenDataFor(request.model, request.spec, options, task));
  MOTLEY_RETURN_IF_ERROR(CheckRead(request, read));
  PreparedData data;
  data.class_labels = read.class_labels;
  data.names = std::move(read.names);
  data.notes = std::move(read.notes);
  std::optional<std::vector<uint32_t>> train_rows;
  std::optional<std::vector<uint32_t>> test_rows;
  if (const double split = request.split; !read.test && split != kAllTrain) {
    MOTLEY_ASSIGN_OR_RETURN(
        SplitRows rows,
        CutRows(read.train->shape().rows, split != 0 ? split : kDefaultSplit, request.seed));
    train_rows = std::move(rows.train);
    test_rows = std::move(rows.test);
  }
  std::optional<std::vector<uint32_t>> held_out;
  if (request.hold_out) {
    MOTLEY_ASSIGN_OR_RETURN(held_out, HoldOut(request, read.train->shape(), train_rows));
  }
  std::shared_ptr<const DataSource> train = read.train;
  std::shared_ptr<const DataSource> test = read.test != nullptr ? read.test : read.train;
  // An array is read as a table without texts if `scale` asks for it.
  const auto begun = [&] { return options.table != nullptr && options.table->begun(); };
  if (!begun() && StandardAsked(request)) {
    options.table = TableReading::OfNumbers(train->shape().features, TableOptionsOf(request));
  }
  if (begun()) {
    MOTLEY_RETURN_IF_ERROR(
        EncodeTable(request, *options.table, read, train_rows, data, train, test));
  } else {
    MOTLEY_RETURN_IF_ERROR(ScaleTarget(request, train_rows, data, train, test));
  }
  TableScale scale =
      request.features == Features::kScaled ? TableScale::kLargest : TableScale::kNone;
  if (request.table.scale_given) scale = request.table.scale;
  if (data.table != nullptr) scale = data.table->scale;
  if (request.input_scale) {
    data.input_scale = *request.input_scale;
  } else if (scale == TableScale::kLargest) {
    MOTLEY_ASSIGN_OR_RETURN(data.magnitudes,
                            MeasureMagnitudes(*train, train_rows, request.unwanted));
    if (data.magnitudes.largest > 1) data.input_scale = 1 / data.magnitudes.largest;
  }
  data.test =
      std::make_shared<const DataView>(std::move(test), std::move(test_rows), data.input_scale);
  if (held_out) {
    data.validation = std::make_shared<const DataView>(train, std::move(held_out), data.input_scale,
                                                       request.storage);
  }
  data.train = std::make_shared<const DataView>(std::move(train), std::move(train_rows),
                                                data.input_scale, request.storage);
  return data;
}

Result<ModelData> ReadForModel(const std::string& path, const std::string& label,
                               const SavedModel& model) {
  ReadOptions options;
  options.label = label;
  options.regression = model.spec.classes == 0;
  ModelData data;
  uint32_t cells = model.spec.features;
  std::vector<std::string> class_names;
  if (!model.table.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(TableSchema table, ParseTableSchema(model.table));
    class_names = table.classes;
    data.table = std::make_shared<const TableSchema>(std::move(table));
  }
  const bool columns = data.table != nullptr && !data.table->target_only();
  if (columns) {
    cells = static_cast<uint32_t>(data.table->columns.size());
    options.table = std::make_shared<TableReading>(data.table, KnownFrom::kModelToPredict);
  }
  options.unlabelled_features = cells;
  MOTLEY_ASSIGN_OR_RETURN(data.samples,
                          OpenLabelled(path, options, model.class_labels, cells, class_names));
  if (columns && data.samples->shape().sparse) {
    return Status::DataError(
        fmt::format("{}: its samples are sparse, and the model learned from a table of {}", path,
                    Counted(cells, "column")));
  }
  if (columns) data.notes = options.table->TakeNotes();
  if (data.table != nullptr) {
    const TableReading none{TableOptions{}};
    data.samples = std::make_shared<const TableView>(data.samples, data.table,
                                                     columns ? *options.table : none);
  }
  data.samples =
      std::make_shared<const DataView>(std::move(data.samples), std::nullopt, model.input_scale);
  return data;
}

}  // namespace motley
