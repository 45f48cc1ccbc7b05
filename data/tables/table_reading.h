// SPDX-License-Identifier: Apache-2.0
// What a table's files say besides numbers, gathered while they are read: names of columns, texts,
// what is missing. One float per cell goes on to the samples' source: a number as it is, anything
// else as a NaN that carries a mark. One thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "data/tables/table_schema.h"

namespace motley {

// Texts that one column may have: more would need one feature each.
inline constexpr uint32_t kMostTexts = 10'000;

inline constexpr uint32_t kMarkBits = 0x7fc00000U;  // Of a NaN; the mark follows.
inline float MissingCell() { return std::bit_cast<float>(kMarkBits); }
inline float TextCell(uint32_t code) { return std::bit_cast<float>(kMarkBits | (code + 1)); }
inline bool IsMissing(float cell) { return std::bit_cast<uint32_t>(cell) == kMarkBits; }
// The text's number, if the cell is one.
inline std::optional<uint32_t> TextOf(float cell) {
  if (!std::isnan(cell) || IsMissing(cell)) return std::nullopt;
  return (std::bit_cast<uint32_t>(cell) & ~kMarkBits) - 1;
}

// How tools write that a value is missing: an empty field, NA, NaN, null, None, ? and so on.
bool MeansMissing(std::string_view field);
// What people write for a missing value where numbers should be: -, unknown, n.a., #DIV/0!. In
// columns of text these are texts as any others.
bool LooksMissing(std::string_view field);
// Texts of other encodings are taken for Latin-1, so that they can be kept as JSON.
std::string AsUtf8(std::string_view text);
// "12" for 12.0f: what stands for a number in a column of text.
std::string NumberText(float number);

struct TableOptions {
  TableScale scale = TableScale::kStandard;
  bool scale_given = false;  // Else data that are of one size already stay as they are.
  TableMissing missing = TableMissing::kMedian;
  std::vector<std::string> drop;  // Columns that are no features.
  bool standard_target = true;    // With the features; false: targets stay as they are.
};

// Who reads a file whose columns are known, and from where.
enum class KnownFrom {
  kModelToPredict,  // Rows need no labels.
  kModelToTrain,    // A job begins with its parameters.
  kCheckpoint       // A job goes on, which needs the file that it began with.
};

class TableReading {
 public:
  struct Column {
    std::string name;
    uint32_t position = 0;  // See TableColumn.
    bool numbers_only = false;
    std::unordered_map<std::string, uint32_t> codes;
    std::vector<std::string> texts;  // By code;
    std::vector<uint32_t> lines;     // each of them stands here first.
    std::vector<std::string> marks;  // Among numbers: texts that stand for missing values.
    uint64_t number_cells = 0;
    uint64_t text_cells = 0;
    uint64_t missing_cells = 0;
  };
  // Where a column of a file goes.
  static constexpr int64_t kLabel = -1;
  static constexpr int64_t kNowhere = -2;

  // To learn from a first file.
  explicit TableReading(TableOptions options) : options_(std::move(options)) {}
  // To read a file as a model knows it.
  TableReading(std::shared_ptr<const TableSchema> known, KnownFrom from);
  // Of `features` columns of numbers without names, which need not be a text file's.
  static std::shared_ptr<TableReading> OfNumbers(uint32_t features, TableOptions options);

  // A file begins: where each of its columns goes. `label`: the label's column, if it is known.
  // `fields`: names, or the first sample of a file without them. The first file defines the
  // columns; others may have them in any order, and more. kDataError names the columns that are
  // not there (kConflict where a job goes on), kNotFound columns to drop that are not.
  Result<std::vector<int64_t>> Begin(const std::string& path,
                                     const std::vector<std::string>& fields, bool named,
                                     std::optional<size_t> label);
  // Whether columns are known already: then by which names, and the label's.
  bool begun() const { return begun_; }
  bool KnowsName(std::string_view name) const;
  const std::string& label() const { return label_; }
  bool labels_optional() const { return from_ == KnownFrom::kModelToPredict; }

  // The cell of a field. kDataError, to be completed with the place: text among numbers, a missing
  // value where that is an error, a number that is not finite.
  Result<float> Cell(size_t column, std::string_view field, uint32_t line);
  void CountUnlabelled() { ++unlabelled_; }

  // The first file was read: columns with text are text from here on, unless all their texts stand
  // for missing values among numbers. kDataError: a column that has another text here and there
  // among very many numbers.
  Status EndFirst();

  const TableOptions& options() const { return options_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::string>& left_out() const { return left_out_; }
  const TableSchema* schema() const { return schema_.get(); }
  bool named() const { return named_; }
  uint32_t file_columns() const { return file_columns_; }
  uint32_t label_position() const { return label_position_; }
  // For people: columns that were left out or not known, labels that were missing, unknown texts.
  std::vector<std::string> TakeNotes();

 private:
  Result<std::vector<int64_t>> Define(const std::string& path,
                                      const std::vector<std::string>& fields, bool named,
                                      std::optional<size_t> label);
  Result<std::vector<int64_t>> MatchNames(const std::string& path,
                                          const std::vector<std::string>& fields,
                                          std::optional<size_t> label);
  Result<std::vector<int64_t>> MatchPositions(size_t count, std::optional<size_t> label) const;
  bool resumes() const { return from_ == KnownFrom::kCheckpoint; }
  static Status OtherData(const std::string& what);
  bool TakeMarks(Column& column);

  TableOptions options_;
  std::shared_ptr<const TableSchema> schema_;  // Null: learns.
  std::optional<KnownFrom> from_;              // Where the schema is from.
  bool begun_ = false;
  bool named_ = false;
  uint32_t file_columns_ = 0;
  std::string label_;
  uint32_t label_position_ = 0;
  std::vector<Column> columns_;
  std::vector<std::string> left_out_;
  uint64_t unlabelled_ = 0;
  std::string first_path_;  // Of the file that defined the columns.
  std::vector<std::string> notes_;
};

}  // namespace motley
