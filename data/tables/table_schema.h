// SPDX-License-Identifier: Apache-2.0
// What a table's columns mean to a model: kept with it, so that other files are read the same way.
// Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace motley {

// How features are brought to like sizes.
enum class TableScale {
  kStandard,  // Each column of numbers: (value - mean) / deviation. So are targets.
  kLargest,   // All are divided by the largest magnitude among them, if that is above 1.
  kNone
};

// What stands for a missing value.
enum class TableMissing {
  kMedian,     // The column's median; no category.
  kIndicator,  // The same, and one more feature is 1 where the value is missing.
  kError
};

// "standard", "largest", "none"; "median", "indicator", "error". kInvalidArgument.
Result<TableScale> ParseTableScale(const std::string& name);
Result<TableMissing> ParseTableMissing(const std::string& name);
const char* NameOf(TableScale scale);
const char* NameOf(TableMissing missing);

struct TableColumn {
  std::string name;       // Its number, from 0, in files without names.
  uint32_t position = 0;  // In the file that was learned from, from 0.
  // Text: one feature for each category, which is 1 or 0. Ascending.
  bool text = false;
  std::vector<std::string> categories;
  bool indicator = false;  // See TableMissing; the column's last feature.
  // Of numbers. A deviation of 0 is that of a constant column, whose feature is always 0.
  double fill = 0;
  double mean = 0;
  double deviation = 1;

  uint32_t features() const {
    return (text ? static_cast<uint32_t>(categories.size()) : 1) + (indicator ? 1 : 0);
  }
};

// Example: the columns size (2, 4, missing) and kind ("b", "a", "b"), with the default options,
// make the features size (-1, 1, 0), kind=a (0, 1, 0) and kind=b (1, 0, 1).
//
// Of samples that are no table (arrays, sparse ones) it may describe the target alone: then it has
// no columns, and features are not its business.
struct TableSchema {
  std::vector<TableColumn> columns;   // Of features, as the file had them.
  std::vector<std::string> left_out;  // Names of columns that are no features.
  bool named = false;                 // The file had names.
  uint32_t file_columns = 0;          // With the label and those left out.
  std::string label;                  // The label's column.
  uint32_t label_position = 0;
  // Of text labels, by class; empty: the labels are numbers.
  std::vector<std::string> classes;
  bool regression = false;
  double target_mean = 0;
  double target_deviation = 1;
  TableScale scale = TableScale::kStandard;
  TableMissing missing = TableMissing::kMedian;

  bool target_only() const { return columns.empty(); }
  uint32_t features() const;
  // "size", "kind=a", "kind=b", "size is missing".
  std::vector<std::string> FeatureNames() const;
  // A squared loss of the model in the squared units of the file's labels.
  double loss_unit() const { return regression ? target_deviation * target_deviation : 1; }
};

std::string ToJson(const TableSchema& schema);
// kDataError: not what ToJson wrote, by this version or an earlier one.
Result<TableSchema> ParseTableSchema(const std::string& json);

}  // namespace motley
