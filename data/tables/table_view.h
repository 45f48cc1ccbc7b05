// SPDX-License-Identifier: Apache-2.0
// From the cells of a table to the features of a model: learns what columns mean, and applies it on
// the way out of the samples' source, which keeps one float per cell.
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
  std::vector<std::string> notes;  // What was chosen, for people.
};

// Learns from the samples `rows` of `cells` (all of them, when not given), whose file was read with
// `reading`: means, deviations, medians (of 65,536 samples at most) and categories. Reads them
// once, in blocks. A column with too many texts is left out. kDataError: no column is left;
// kCancelled.
Result<LearnedTable> LearnTable(const TableReading& reading, const DataSource& cells,
                                std::optional<std::span<const uint32_t>> rows, bool regression,
                                const Unwanted& unwanted = nullptr);

// The mean and deviation of the labels of these samples, as a schema of the target alone.
Result<LearnedTable> LearnTarget(const DataSource& samples,
                                 std::optional<std::span<const uint32_t>> rows, TableScale scale,
                                 const Unwanted& unwanted = nullptr);

// The features of samples that were read as cells. Any thread.
class TableView final : public DataSource {
 public:
  // `reading`: of the file that `cells` are from, with the columns of `schema` among its own. With
  // a schema of the target alone features stay as they are, whatever they are.
  TableView(std::shared_ptr<const DataSource> cells, std::shared_ptr<const TableSchema> schema,
            const TableReading& reading);

  DataShape shape() const override;
  Result<Dataset> Range(size_t begin, size_t end) const override;
  Result<Dataset> Gather(std::span<const uint32_t> rows) const override;
  uint64_t memory_bytes() const override { return cells_->memory_bytes(); }

 private:
  struct Column {
    size_t cell = 0;  // Its place in a row of cells.
    // Text: the category of each text code and number; texts without one are absent or -1.
    std::vector<int32_t> of_text;
    std::unordered_map<float, int32_t> of_number;
  };
  int32_t CategoryOf(const Column& column, float cell) const;
  void Encode(std::span<const float> cells, float* features) const;
  Result<Dataset> Encoded(Result<Dataset> cells) const;

  std::shared_ptr<const DataSource> cells_;
  std::shared_ptr<const TableSchema> schema_;
  std::vector<Column> columns_;
  uint32_t features_ = 0;
};

}  // namespace motley
