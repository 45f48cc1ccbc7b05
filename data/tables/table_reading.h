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
#include <vector>

#include "base/status.h"
#include "data/tables/table_schema.h"

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

// True for the ways in which tools write missing values: an empty field, NA, NaN, null, None, ? and
// so on.
bool MeansMissing(std::string_view field);
// True for what users write in place of a missing number: -, unknown, n.a., #DIV/0!. In columns of
// text these are ordinary texts.
bool LooksMissing(std::string_view field);
// Returns valid UTF-8, for JSON. Other bytes are taken for Latin-1.
std::string AsUtf8(std::string_view text);
// The text of a number in a column of text: "12" for 12.0f.
std::string NumberText(float number);

struct TableOptions {
  TableScale scale = TableScale::kStandard;
  bool scale_given = false;  // False: features that are already of similar size are not scaled.
  TableMissing missing = TableMissing::kMedian;
  std::vector<std::string> drop;  // Columns that are not features.
  bool standard_target = true;    // Targets are standardised with the features.
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
    std::unordered_map<std::string, uint32_t> codes;
    std::vector<std::string> texts;  // By code.
    std::vector<uint32_t> lines;     // First line of each text.
    std::vector<std::string> marks;  // Texts in a column of numbers that stand for missing values.
    uint64_t number_cells = 0;
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
  void CountUnlabelled() { ++unlabelled_; }

  // Ends the first file. Columns with texts become text columns, unless all their texts stand for
  // missing values among numbers. kDataError: a column has very many numbers and a few other texts.
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
  Result<std::vector<int64_t>> MatchPositions(size_t count, std::optional<size_t> label) const;
  bool resumes() const { return from_ == KnownFrom::kCheckpoint; }
  static Status OtherData(const std::string& what);
  bool TakeMarks(Column& column);

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
