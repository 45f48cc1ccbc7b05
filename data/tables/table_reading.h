// SPDX-License-Identifier: Apache-2.0
// Collects what a table's files contain besides numbers while they are read: column names, texts
// and missing values. Each cell becomes one float in the samples' source: a number as it is,
// everything else as a NaN that carries a mark. One thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "data/tables/cell_text.h"
#include "data/tables/table_schema.h"
#include "data/tables/written_number.h"

namespace motley {

// Most distinct texts of a column; each needs a feature of its own.
inline constexpr uint32_t kMostTexts = 10'000;

inline constexpr uint32_t kMarkBits = 0x7fc00000U;  // A NaN; the mark is in its low bits.
inline float MissingCell() { return std::bit_cast<float>(kMarkBits); }
inline float TextCell(uint32_t code) { return std::bit_cast<float>(kMarkBits | (code + 1)); }
inline bool IsMissing(float cell) { return std::bit_cast<uint32_t>(cell) == kMarkBits; }
// The code of the cell's text, if the cell is a text.
inline std::optional<uint32_t> TextOf(float cell) {
  if (!std::isnan(cell) || IsMissing(cell)) return std::nullopt;
  return (std::bit_cast<uint32_t>(cell) & ~kMarkBits) - 1;
}

// The number in a cell of a column of numbers; NaN if it is missing. `values` has the numbers that
// were read as texts, by code.
inline float NumberIn(float cell, const std::vector<float>& values) {
  const auto code = TextOf(cell);
  return code && *code < values.size() ? values[*code] : cell;
}

struct TableOptions {
  TableScale scale = TableScale::kStandard;
  bool scale_given = false;  // False: features that are already of similar size are not scaled.
  TableMissing missing = TableMissing::kMedian;
  std::optional<Decimal> decimal;  // The decimal mark of written numbers; empty: found out.
  std::vector<std::string> drop;   // Columns that are not features.
  bool standard_target = true;     // Targets are standardised with the features.
};

// Purpose of reading a file whose columns are known.
enum class KnownFrom {
  kModelToPredict,  // Rows need no labels.
  kModelToTrain,    // A job begins with the model's parameters.
  kCheckpoint       // A resumed job needs the file that it began with.
};

class TableReading {
 public:
  struct Column {
    std::string name;
    uint32_t position = 0;  // See TableColumn.
    bool numbers_only = false;
    // How the numbers are written, if not all of them are plain.
    std::optional<NumberForm> form;
    std::unordered_map<std::string, uint32_t> codes;
    std::vector<std::string> texts;  // By code.
    std::vector<uint32_t> lines;     // First line of each text.
    std::vector<uint64_t> counts;    // Cells of each text.
    std::vector<float> values;       // By code: numbers that were read as texts, or a missing cell.
    std::vector<std::string> marks;  // Texts in a column of numbers that stand for missing values.
    uint64_t number_cells = 0;
    uint64_t point_cells = 0;  // Numbers with a decimal point.
    uint64_t text_cells = 0;
    uint64_t missing_cells = 0;
  };
  // Destinations of a file's columns; other values are indices of features.
  static constexpr int64_t kLabel = -1;
  static constexpr int64_t kNowhere = -2;

  // Learns the columns from the first file.
  explicit TableReading(TableOptions options) : options_(std::move(options)) {}
  // Reads files whose columns `known` describes.
  TableReading(std::shared_ptr<const TableSchema> known, KnownFrom from);
  // For `features` unnamed columns of numbers from any kind of file.
  static std::shared_ptr<TableReading> OfNumbers(uint32_t features, TableOptions options);

  // Begins a file and returns the destination of each of its columns. `label` is the label's
  // column, if known. `fields` are the names, or the first sample of a file without names. The
  // first file defines the columns; later files may order them differently and have more.
  // kDataError names missing columns (kConflict for kCheckpoint). kNotFound: a column to drop does
  // not exist.
  Result<std::vector<int64_t>> Begin(const std::string& path,
                                     const std::vector<std::string>& fields, bool named,
                                     std::optional<size_t> label);
  // True once the columns are known; KnowsName and label() are then valid.
  bool begun() const { return begun_; }
  bool KnowsName(std::string_view name) const;
  const std::string& label() const { return label_; }
  bool labels_optional() const { return from_ == KnownFrom::kModelToPredict; }

  // Encodes a field. kDataError, to which the caller adds the place: a text among numbers, a
  // missing value if those are errors, or a number that is not finite.
  Result<float> Cell(size_t column, std::string_view field, uint32_t line);
  // A label that is a number, in the form of the model's labels if it has one. kDataError: it is
  // none, or it may be none because its form is still to be found.
  Result<double> LabelNumber(std::string_view field) const;
  void CountUnlabelled() { ++unlabelled_; }

  // The decimal mark that is taken for written numbers that fit both marks, like "1,137": that of
  // the columns that fit just one.
  Decimal LikelyDecimal() const;
  // Ends the first file. Columns with texts become text columns, unless their texts are written
  // numbers of one form or stand for missing values among numbers. kDataError: a column has very
  // many numbers and a few other texts.
  Status EndFirst();

  const TableOptions& options() const { return options_; }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::string>& left_out() const { return left_out_; }
  const TableSchema* schema() const { return schema_.get(); }
  bool named() const { return named_; }
  uint32_t file_columns() const { return file_columns_; }
  uint32_t label_position() const { return label_position_; }
  // Notes for the user: columns that were left out or unknown, missing labels, unknown texts.
  std::vector<std::string> TakeNotes();

 private:
  Result<std::vector<int64_t>> Define(const std::string& path,
                                      const std::vector<std::string>& fields, bool named,
                                      std::optional<size_t> label);
  Result<std::vector<int64_t>> MatchNames(const std::string& path,
                                          const std::vector<std::string>& fields,
                                          std::optional<size_t> label);
  Result<std::vector<int64_t>> MatchPositions(const std::string& path, size_t count,
                                              std::optional<size_t> label);
  bool resumes() const { return from_ == KnownFrom::kCheckpoint; }
  static Status OtherData(const std::string& what);
  FormFinder FinderOf(const Column& column) const;
  float BeyondTexts(Column& column, const std::string& text, uint32_t line);
  // Names of columns, each with an example of how it was read.
  using WrittenColumns = std::vector<std::pair<std::string, std::string>>;
  Status EndColumn(Column& column, Decimal otherwise, WrittenColumns& read);

  TableOptions options_;
  std::shared_ptr<const TableSchema> schema_;  // Null: columns are still to be learned.
  std::optional<KnownFrom> from_;              // Source of the schema.
  bool begun_ = false;
  bool named_ = false;
  uint32_t file_columns_ = 0;
  std::string label_;
  uint32_t label_position_ = 0;
  std::vector<Column> columns_;
  std::vector<std::string> left_out_;
  uint64_t unlabelled_ = 0;
  std::string first_path_;  // The file that defined the columns.
  std::vector<std::string> notes_;
};

}  // namespace motley
