// SPDX-License-Identifier: Apache-2.0
#include "data/tables/table_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/suggest.h"
#include "data/raw_samples.h"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

// Version 2 has written numbers. Tables without any are described as in version 1.
constexpr uint32_t kVersion = 2;

constexpr std::pair<const char*, TableScale> kScales[] = {{"standard", TableScale::kStandard},
                                                          {"largest", TableScale::kLargest},
                                                          {"none", TableScale::kNone}};
constexpr std::pair<const char*, TableMissing> kMissing[] = {
    {"median", TableMissing::kMedian},
    {"indicator", TableMissing::kIndicator},
    {"error", TableMissing::kError}};

template <typename T, size_t N>
const char* Name(const std::pair<const char*, T> (&list)[N], T value) {
  for (const auto& [name, each] : list) {
    if (each == value) return name;
  }
  return "";
}

template <typename T, size_t N>
Result<T> Choose(const char* option, const std::pair<const char*, T> (&list)[N],
                 const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, value] : list) {
    if (name == known) return value;
    names.emplace_back(known);
  }
  MOTLEY_RETURN_IF_ERROR(CheckChoice(option, name, names));
  return Status::Internal("a choice without a value");
}

Json FormJson(const NumberForm& form) {
  return {{"decimal", NameOf(form.decimal)}, {"unit", form.unit}};
}

// Exceptions of nlohmann's at() and get() become kDataError in ParseTableSchema.
Status ReadForm(const Json& json, const char* key, std::optional<NumberForm>& form) {
  if (!json.contains(key)) return Status::Ok();
  form.emplace();
  json[key].at("unit").get_to(form->unit);
  MOTLEY_ASSIGN_OR_RETURN(form->decimal, ParseDecimal(json[key].at("decimal").get<std::string>()));
  return Status::Ok();
}

Json ColumnJson(const TableColumn& column) {
  Json json = {{"name", column.name}, {"position", column.position}};
  if (column.text) {
    json["categories"] = column.categories;
  } else {
    json["fill"] = column.fill;
    json["mean"] = column.mean;
    json["deviation"] = column.deviation;
    if (column.form) json["written"] = FormJson(*column.form);
  }
  if (column.indicator) json["indicator"] = true;
  return json;
}

Result<TableColumn> ColumnFrom(const Json& json) {
  TableColumn column;
  json.at("name").get_to(column.name);
  json.at("position").get_to(column.position);
  column.text = json.contains("categories");
  if (column.text) {
    json["categories"].get_to(column.categories);
  } else {
    json.at("fill").get_to(column.fill);
    json.at("mean").get_to(column.mean);
    json.at("deviation").get_to(column.deviation);
    MOTLEY_RETURN_IF_ERROR(ReadForm(json, "written", column.form));
  }
  column.indicator = json.value("indicator", false);
  return column;
}

// Checks what reading and encoding rely on.
Status Check(const TableSchema& schema) {
  uint64_t features = 0;
  for (const TableColumn& column : schema.columns) {
    const bool numbers = std::isfinite(column.fill) && std::isfinite(column.mean) &&
                         std::isfinite(column.deviation) && column.deviation >= 0;
    const bool sorted =
        std::is_sorted(column.categories.begin(), column.categories.end(), std::less_equal<>()) ||
        column.categories.size() < 2;
    if (!numbers || !sorted || column.position >= schema.file_columns) {
      return Status::DataError(fmt::format("column '{}' is invalid", column.name));
    }
    features += column.features();
  }
  const bool target = std::isfinite(schema.target_mean) && std::isfinite(schema.target_deviation) &&
                      schema.target_deviation > 0;
  if (!target) return Status::DataError("the target's mean and deviation are invalid");
  const bool described = schema.target_only() ? schema.regression : features > 0;
  if (!described || features > kMaxFeatures) {
    return Status::DataError(fmt::format("its columns make {} features", features));
  }
  return Status::Ok();
}

Result<TableSchema> FromJson(const Json& json) {
  TableSchema schema;
  if (json.at("version").get<uint32_t>() > kVersion) {
    return Status::Conflict("the description of the table is from a newer version of Motley");
  }
  for (const Json& column : json.at("columns")) {
    MOTLEY_ASSIGN_OR_RETURN(schema.columns.emplace_back(), ColumnFrom(column));
  }
  json.at("left_out").get_to(schema.left_out);
  json.at("named").get_to(schema.named);
  json.at("file_columns").get_to(schema.file_columns);
  json.at("label").get_to(schema.label);
  json.at("label_position").get_to(schema.label_position);
  MOTLEY_RETURN_IF_ERROR(ReadForm(json, "label_written", schema.label_form));
  json.at("classes").get_to(schema.classes);
  json.at("regression").get_to(schema.regression);
  json.at("target_mean").get_to(schema.target_mean);
  json.at("target_deviation").get_to(schema.target_deviation);
  MOTLEY_ASSIGN_OR_RETURN(schema.scale, ParseTableScale(json.at("scale").get<std::string>()));
  MOTLEY_ASSIGN_OR_RETURN(schema.missing, ParseTableMissing(json.at("missing").get<std::string>()));
  MOTLEY_RETURN_IF_ERROR(Check(schema));
  return schema;
}

}  // namespace

Result<TableScale> ParseTableScale(const std::string& name) {
  return Choose("`scale`", kScales, name);
}
Result<TableMissing> ParseTableMissing(const std::string& name) {
  return Choose("`missing`", kMissing, name);
}
const char* NameOf(TableScale scale) { return Name(kScales, scale); }
const char* NameOf(TableMissing missing) { return Name(kMissing, missing); }

uint32_t TableSchema::features() const {
  uint32_t count = 0;
  for (const TableColumn& column : columns) count += column.features();
  return count;
}

std::vector<std::string> TableSchema::FeatureNames() const {
  std::vector<std::string> names;
  for (const TableColumn& column : columns) {
    if (!column.text) names.push_back(column.name);
    for (const std::string& category : column.categories) {
      names.push_back(column.name + "=" + category);
    }
    if (column.indicator) names.push_back(column.name + " is missing");
  }
  return names;
}

bool Allows(const TableSchema& schema, Decimal decimal) {
  const auto fits = [&](const std::optional<NumberForm>& form) {
    return !form || form->decimal == decimal;
  };
  return fits(schema.label_form) && std::all_of(schema.columns.begin(), schema.columns.end(),
                                                [&](const auto& each) { return fits(each.form); });
}

std::string ToJson(const TableSchema& schema) {
  const bool written =
      schema.label_form || std::any_of(schema.columns.begin(), schema.columns.end(),
                                       [](const TableColumn& column) { return column.form; });
  Json json = {{"version", written ? kVersion : 1}, {"columns", Json::array()}};
  for (const TableColumn& column : schema.columns) json["columns"].push_back(ColumnJson(column));
  json["left_out"] = schema.left_out;
  json["named"] = schema.named;
  json["file_columns"] = schema.file_columns;
  json["label"] = schema.label;
  json["label_position"] = schema.label_position;
  if (schema.label_form) json["label_written"] = FormJson(*schema.label_form);
  json["classes"] = schema.classes;
  json["regression"] = schema.regression;
  json["target_mean"] = schema.target_mean;
  json["target_deviation"] = schema.target_deviation;
  json["scale"] = NameOf(schema.scale);
  json["missing"] = NameOf(schema.missing);
  return json.dump();
}

Result<TableSchema> ParseTableSchema(const std::string& text) {
  // ToJson nests less deeply, so deeper values are skipped.
  constexpr int kDepth = 4;
  const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth <= kDepth; };
  Status error;
  try {
    Result<TableSchema> schema = FromJson(Json::parse(text, shallow));
    if (schema.ok()) return schema;
    error = schema.status();
  } catch (const nlohmann::json::exception& thrown) {
    error = Status::DataError(thrown.what());
  }
  return error.WithContext("the description of the model's table");
}

}  // namespace motley
