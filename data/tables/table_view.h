// SPDX-License-Identifier: Apache-2.0
// Turns the cells of a table into features of a model: learns the columns' meaning, and applies it
// when samples are read from the source, which keeps one float per cell.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/data_source.h"
#include "data/tables/table_reading.h"
#include "data/tables/table_schema.h"

namespace motley {

struct LearnedTable {
  TableSchema schema;
  std::vector<std::string> notes;  // Choices that were made, for the user.
};

// Learns means, deviations, medians and categories from the samples `rows` of `cells`, or from all
// if `rows` is not given. `reading` read their file. Samples are read once, in blocks; medians use
// at most 65,536 of them. A column with too many texts is left out. kDataError: no column is left.
// kCancelled.
Result<LearnedTable> LearnTable(const TableReading& reading, const DataSource& cells,
                                std::optional<std::span<const uint32_t>> rows, bool regression,
                                const Unwanted& unwanted = nullptr);

// Learns mean and deviation of the labels, as a schema of the target alone.
Result<LearnedTable> LearnTarget(const DataSource& samples,
                                 std::optional<std::span<const uint32_t>> rows, TableScale scale,
                                 const Unwanted& unwanted = nullptr);

// The features of samples that are stored as cells. Any thread.
class TableView final : public DataSource {
 public:
  // `reading` read the file of `cells`; its columns include those of `schema`. With a schema of the
  // target alone, features pass through unchanged.
  TableView(std::shared_ptr<const DataSource> cells, std::shared_ptr<const TableSchema> schema,
            const TableReading& reading);

  DataShape shape() const override;
  Result<Dataset> Range(size_t begin, size_t end) const override;
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override;
  Result<float> LabelOf(size_t row) const override;
  uint64_t memory_bytes() const override { return cells_->memory_bytes(); }

 private:
  struct Column {
    size_t cell = 0;  // Index in a row of cells.
    // Text: the category of each text code and number. Texts without a category are absent or -1.
    std::vector<int32_t> of_text;
    std::unordered_map<float, int32_t> of_number;
    std::vector<float> values;  // See TableReading::Column.
  };
  int32_t CategoryOf(const Column& column, float cell) const;
  void Encode(std::span<const float> cells, float* features) const;
  float EncodedLabel(float label) const;
  Result<Dataset> Encoded(Result<Dataset> cells) const;

  std::shared_ptr<const DataSource> cells_;
  std::shared_ptr<const TableSchema> schema_;
  std::vector<Column> columns_;
  uint32_t features_ = 0;
};

}  // namespace motley
