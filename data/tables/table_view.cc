// SPDX-License-Identifier: Apache-2.0
#include "data/tables/table_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "data/files/text_scan.h"

namespace motley {

TableView::TableView(std::shared_ptr<const DataSource> cells,
                     std::shared_ptr<const TableSchema> schema, const TableReading& reading)
    : cells_(std::move(cells)),
      schema_(std::move(schema)),
      features_(schema_->target_only() ? cells_->shape().features : schema_->features()) {
  for (const TableColumn& known : schema_->columns) {
    Column& column = columns_.emplace_back();
    const auto& read = reading.columns();
    const auto found = std::find_if(read.begin(), read.end(), [&](const auto& each) {
      return each.position == known.position;
    });
    MOTLEY_ASSERT(found != read.end());
    column.cell = static_cast<size_t>(found - read.begin());
    column.values = found->values;
    column.of_text.assign(found->texts.size() + 1, -1);
    for (size_t i = 0; i < known.categories.size(); ++i) {
      const auto category = static_cast<int32_t>(i);
      const auto code = found->codes.find(known.categories[i]);
      if (code != found->codes.end()) column.of_text[code->second] = category;
      const Result<double> number = ParseNumber(known.categories[i]);
      if (number.ok()) column.of_number[static_cast<float>(*number)] = category;
    }
  }
}

int32_t TableView::CategoryOf(const Column& column, float cell) const {
  if (const auto text = TextOf(cell)) {
    return *text < column.of_text.size() ? column.of_text[*text] : -1;
  }
  const auto found = column.of_number.find(cell);  // A missing value is NaN, which equals nothing.
  return found == column.of_number.end() ? -1 : found->second;
}

void TableView::Encode(std::span<const float> cells, float* features) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const TableColumn& known = schema_->columns[i];
    const float cell = cells[columns_[i].cell];
    if (known.text) {
      const int32_t category = CategoryOf(columns_[i], cell);
      std::fill_n(features, known.categories.size(), 0.0f);
      if (category >= 0) features[category] = 1;
      features += known.categories.size();
    } else {
      const float number = NumberIn(cell, columns_[i].values);
      const double value = std::isnan(number) ? known.fill : number;
      const double moved = known.deviation > 0 ? (value - known.mean) / known.deviation : 0;
      constexpr double kFar = std::numeric_limits<float>::max();
      *features++ = static_cast<float>(std::clamp(moved, -kFar, kFar));
    }
    if (!known.indicator) continue;
    const bool missing =
        known.text ? IsMissing(cell) : std::isnan(NumberIn(cell, columns_[i].values));
    *features++ = missing ? 1.0f : 0.0f;
  }
}

Result<Dataset> TableView::Encoded(Result<Dataset> cells) const {
  if (!cells.ok()) return cells;
  if (!schema_->target_only()) {
    const size_t width = cells->features;
    std::vector<float> features(cells->rows() * features_);
    for (size_t row = 0; row < cells->rows(); ++row) {
      Encode(std::span<const float>(cells->dense).subspan(row * width, width),
             features.data() + row * features_);
    }
    cells->dense = std::move(features);
    cells->features = features_;
  }
  for (float& label : cells->label) label = EncodedLabel(label);
  return cells;
}

float TableView::EncodedLabel(float label) const {
  if (!schema_->regression) return label;
  return static_cast<float>((label - schema_->target_mean) / schema_->target_deviation);
}

Result<float> TableView::LabelOf(size_t row) const {
  MOTLEY_ASSIGN_OR_RETURN(const float label, cells_->LabelOf(row));
  return EncodedLabel(label);
}

DataShape TableView::shape() const {
  DataShape shape = cells_->shape();
  shape.features = features_;
  return shape;
}

Result<Dataset> TableView::Range(size_t begin, size_t end) const {
  return Encoded(cells_->Range(begin, end));
}

Result<Dataset> TableView::Gather(std::span<const uint32_t> rows) const {
  return Encoded(cells_->Gather(rows));
}

}  // namespace motley
