// SPDX-License-Identifier: Apache-2.0
#include "api/request/begin_with.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "training/models/architecture.h"

namespace motley {
namespace {

Status Contradicts(const char* option, const std::string& given, const std::string& has) {
  return Status::InvalidArgument(fmt::format(
      "`{}` {}: the model of `init` has {}, and its parameters depend on it. Leave `{}` out",
      option, given, has, option));
}

const char* NameOf(LabelTask task) { return task == LabelTask::kRegress ? "regress" : "classify"; }

Status CheckTask(LabelTask has, JobRequest& request) {
  if (request.task != LabelTask::kGuess && request.task != has) {
    return Contradicts("task", NameOf(request.task), NameOf(has));
  }
  request.task = has;
  return Status::Ok();
}

Status CheckTable(const TableSchema& table, const JobRequest& request) {
  const TableOptions& given = request.table;
  if (request.missing_given && given.missing != table.missing) {
    return Contradicts("missing", NameOf(given.missing), NameOf(table.missing));
  }
  if (given.scale_given && given.scale != table.scale) {
    return Contradicts("scale", NameOf(given.scale), NameOf(table.scale));
  }
  if (given.decimal && !Allows(table, *given.decimal)) {
    return Contradicts("decimal", NameOf(*given.decimal), NameOf(OtherMark(*given.decimal)));
  }
  for (const std::string& name : given.drop) {
    const auto is = [&](const TableColumn& column) { return column.name == name; };
    if (std::any_of(table.columns.begin(), table.columns.end(), is)) {
      return Contradicts("drop", name, "this column");
    }
  }
  return Status::Ok();
}

Status CheckNoTable(const SavedModel& model, const JobRequest& request) {
  const char* given = request.missing_given         ? "missing"
                      : request.table.decimal       ? "decimal"
                      : !request.table.drop.empty() ? "drop"
                                                    : nullptr;
  if (given != nullptr) {
    return Status::InvalidArgument(
        fmt::format("`{}`: the model of `init` has not learned from a table. Leave it out", given));
  }
  const TableScale scale = model.input_scale != 1 ? TableScale::kLargest : TableScale::kNone;
  if (!request.table.scale_given || request.table.scale == scale) return Status::Ok();
  return Contradicts("scale", NameOf(request.table.scale),
                     model.input_scale != 1
                         ? fmt::format("features divided by {:g}", 1 / model.input_scale)
                         : "features as they are");
}

}  // namespace

Status TakeUp(const InitialModel& initial, JobRequest& request) {
  const bool open = request.model.empty();
  if (open) request.model = initial.shape().name;
  const SavedModel* ours = initial.ours();
  if (ours == nullptr) {
    // The outputs of a network show whether it predicts classes or numbers. A single layer with one
    // output may do either.
    if (initial.shape().name.empty() || request.task != LabelTask::kGuess) return Status::Ok();
    request.task = initial.shape().outputs > 1 ? LabelTask::kClassify : LabelTask::kRegress;
    return Status::Ok();
  }
  MOTLEY_RETURN_IF_ERROR(
      CheckTask(ours->spec.classes > 0 ? LabelTask::kClassify : LabelTask::kRegress, request));
  if (ours->table.empty()) return CheckNoTable(*ours, request);
  MOTLEY_ASSIGN_OR_RETURN(const TableSchema table, ParseTableSchema(ours->table));
  return CheckTable(table, request);
}

Status ReadAs(const InitialModel& initial, DataRequest& request) {
  const SavedModel* ours = initial.ours();
  if (ours == nullptr) return Status::Ok();
  request.known_from = KnownFrom::kModelToTrain;
  request.input_scale = ours->input_scale;
  request.class_labels = ours->class_labels;
  request.only_numbers = ours->table.empty();
  if (ours->table.empty()) return Status::Ok();
  MOTLEY_ASSIGN_OR_RETURN(TableSchema table, ParseTableSchema(ours->table));
  request.class_names = table.classes;
  request.known = std::make_shared<const TableSchema>(std::move(table));
  return Status::Ok();
}

std::string NameFor(const InitialModel& initial, uint32_t classes) {
  if (!initial.shape().name.empty()) return initial.shape().name;
  return classes == 0 ? "linear" : "logistic";
}

std::string Describe(const InitialModel& initial, const SavedModel& model,
                     const TableSchema* table) {
  std::string text =
      fmt::format("begins with the parameters of {} ({})", initial.path(), model.spec.name);
  if (initial.ours() != nullptr) {
    const bool scaled = table != nullptr || model.input_scale != 1;
    return text + (scaled ? ", and with its scaling of the data" : "");
  }
  text += ", which took the columns as they are";
  std::vector<double> counted(model.spec.classes);
  std::iota(counted.begin(), counted.end(), 0.0);
  const bool named = table != nullptr && !table->classes.empty();
  if (model.spec.classes < 2 || (!named && counted == model.class_labels)) return text;
  constexpr size_t kShown = 6;
  std::vector<std::string> names = ClassNames(model.class_labels, table);
  const bool more = names.size() > kShown;
  if (more) names.resize(kShown);
  return fmt::format("{}; its outputs are the classes {}{}, in this order", text,
                     fmt::join(names, ", "), more ? ", ..." : "");
}

}  // namespace motley
