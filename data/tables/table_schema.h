// SPDX-License-Identifier: Apache-2.0
// The meaning of a table's columns to a model. It is saved with the model, so that other files are
// read the same way. Plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/tables/written_number.h"

namespace motley {

// How features are scaled to similar sizes.
enum class TableScale {
  kStandard,  // (value - mean) / deviation for each column of numbers, and for targets.
  kLargest,   // Division by the largest magnitude of all features, if that is above 1.
  kNone
};

// The replacement of a missing value.
enum class TableMissing {
  kMedian,     // The column's median, or no category.
  kIndicator,  // As kMedian, and one more feature is 1 where the value is missing.
  kError
};

// Parse "standard", "largest", "none" and "median", "indicator", "error"; kInvalidArgument
// otherwise.
Result<TableScale> ParseTableScale(const std::string& name);
Result<TableMissing> ParseTableMissing(const std::string& name);
const char* NameOf(TableScale scale);
const char* NameOf(TableMissing missing);

struct TableColumn {
  std::string name;       // Its number, from 0, in files without names.
  uint32_t position = 0;  // Position in the first file, from 0.
  // Categories of a text column, ascending. Each is one feature, 1 or 0.
  bool text = false;
  std::vector<std::string> categories;
  bool indicator = false;          // The last feature is the indicator (see TableMissing).
  std::optional<NumberForm> form;  // How the numbers are written, if not as plain numbers.
  // Statistics of a column of numbers. A constant column has deviation 0; its feature is always 0.
  double fill = 0;
  double mean = 0;
  double deviation = 1;

  uint32_t features() const {
    return (text ? static_cast<uint32_t>(categories.size()) : 1) + (indicator ? 1 : 0);
  }
};

// Example: the columns size (2, 4, missing) and kind ("b", "a", "b"), with the default options,
// become the features size (-1, 1, 0), kind=a (0, 1, 0) and kind=b (1, 0, 1).
//
// For samples that are not a table (arrays, sparse samples) a schema may describe the target alone.
// It then has no columns.
struct TableSchema {
  std::vector<TableColumn> columns;   // The features' columns, in file order.
  std::vector<std::string> left_out;  // Names of columns that are not features.
  bool named = false;                 // The file had names.
  uint32_t file_columns = 0;          // All columns of the file, with label and left out ones.
  std::string label;                  // The label's column.
  uint32_t label_position = 0;
  std::optional<NumberForm> label_form;  // How numbers to predict are written, if not plain.
  // Text labels by class; empty: labels are numbers.
  std::vector<std::string> classes;
  bool regression = false;
  double target_mean = 0;
  double target_deviation = 1;
  TableScale scale = TableScale::kStandard;
  TableMissing missing = TableMissing::kMedian;

  bool target_only() const { return columns.empty(); }
  uint32_t features() const;
  // The names "size", "kind=a", "kind=b", "size is missing".
  std::vector<std::string> FeatureNames() const;
  // Factor from the model's squared loss to the squared units of the file's labels.
  double loss_unit() const { return regression ? target_deviation * target_deviation : 1; }
};

// True if no number of the table is written with the other decimal mark.
bool Allows(const TableSchema& schema, Decimal decimal);

std::string ToJson(const TableSchema& schema);
// Parses the output of ToJson, of this version or an earlier one; kDataError otherwise.
Result<TableSchema> ParseTableSchema(const std::string& json);

}  // namespace motley
