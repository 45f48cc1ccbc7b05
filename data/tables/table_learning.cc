// SPDX-License-Identifier: Apache-2.0
// Learns the meaning of a table's columns from its training samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "base/counted.h"
#include "data/files/text_scan.h"
#include "data/raw_samples.h"
#include "data/tables/column_names.h"
#include "data/tables/table_view.h"

namespace motley {
namespace {

constexpr size_t kBlockRows = 1024;
constexpr uint64_t kMedianRows = 1 << 16;  // Most samples for a median.
// Most cells for all medians: wide tables use fewer samples.
constexpr uint64_t kMedianCells = 1 << 24;
constexpr size_t kMostCategories = 1000;  // Most categories of a text column that is a feature.
constexpr size_t kManyCategories = 50;    // From here on a note says so.
constexpr size_t kFewTexts = 10;          // So few texts may be distinct in every row.
constexpr const char* kTargetNote =
    "the target is standardised (mean 0, deviation 1); `scale` none leaves it as it is";

// Running mean and sum of squared deviations (Welford 1962).
struct Moments {
  uint64_t count = 0;
  double mean = 0;
  double squares = 0;
  double largest = 0;  // Largest magnitude.
  double least = 0;    // Least of all values and 0.
  bool whole = true;

  void Add(double value) {
    ++count;
    const double step = value - mean;
    mean += step / static_cast<double>(count);
    squares += step * (value - mean);
    largest = std::max(largest, std::abs(value));
    least = std::min(least, value);
    whole = whole && value == std::floor(value);
  }
  // Deviation; 0 if values differ by no more than a float's rounding.
  double Deviation() const {
    const double deviation = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
    constexpr double kRounding = 1e-7;
    return deviation > kRounding * std::abs(mean) ? deviation : 0;
  }
};

struct Learned {
  Moments moments;
  std::vector<float> some;  // Sampled values for the median.
  uint64_t missing = 0;
  std::vector<bool> texts;  // By code: true if the text occurred.
  std::set<float> numbers;  // Numbers in a column of text.
  uint64_t filled = 0;

  size_t categories() const {
    return numbers.size() + static_cast<size_t>(std::count(texts.begin(), texts.end(), true));
  }
};

double Median(std::vector<float> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const double lower =
      *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle));
  return (lower + upper) / 2;
}

class Learner {
 public:
  Learner(const TableReading& reading, uint64_t rows) : reading_(reading), rows_(rows) {
    const size_t width = reading.columns().size();
    const uint64_t most =
        std::clamp<uint64_t>(kMedianCells / std::max<size_t>(width, 1), 1, kMedianRows);
    stride_ = (rows + most - 1) / most;
    for (const auto& column : reading.columns()) {
      Learned& learned = columns_.emplace_back();
      learned.texts.assign(column.texts.size() + 1, false);
    }
  }

  void Add(const Dataset& block) {
    const size_t width = block.features;
    for (size_t row = 0; row < block.rows(); ++row, ++seen_) {
      for (size_t i = 0; i < width; ++i) AddCell(i, block.dense[row * width + i]);
      target_.Add(block.label[row]);
    }
  }

  Result<LearnedTable> Finish(bool regression) &&;

 private:
  void AddCell(size_t index, float cell) {
    Learned& column = columns_[index];
    ++column.filled;
    const bool number = reading_.columns()[index].numbers_only;
    if (number) cell = NumberIn(cell, reading_.columns()[index].values);
    if (IsMissing(cell) || (number && std::isnan(cell))) {
      --column.filled;
      ++column.missing;
    } else if (const auto text = TextOf(cell)) {
      column.texts[*text] = true;
    } else if (!number) {
      if (column.numbers.size() <= kMostCategories) column.numbers.insert(cell);
    } else {
      column.moments.Add(cell);
      if (seen_ % stride_ == 0) column.some.push_back(cell);
    }
  }
  void AddText(size_t index);
  void AddNumbers(size_t index);
  bool AlreadyAlike() const;
  bool LikePixels() const;

  const TableReading& reading_;
  uint64_t rows_;
  uint64_t stride_ = 1;
  uint64_t seen_ = 0;
  std::vector<Learned> columns_;
  Moments target_;
  LearnedTable out_;
};

void Learner::AddText(size_t index) {
  const TableReading::Column& read = reading_.columns()[index];
  const Learned& learned = columns_[index];
  const size_t count = learned.categories();
  const bool mostly_unique = count > kFewTexts && 2 * count > learned.filled;
  if (mostly_unique || count > kMostCategories || read.texts.size() >= kMostTexts) {
    out_.schema.left_out.push_back(read.name);
    const std::string found =
        read.texts.size() >= kMostTexts || count > kMostCategories
            ? fmt::format("more than {} different texts", kMostCategories)
            : fmt::format("{} different texts in {} rows", count, learned.filled);
    out_.notes.push_back(
        fmt::format("column {} has {}: it is left out, because it says little about other rows. "
                    "Group its values in the file to use it, or leave it out with `drop` {}",
                    Quoted(read.name), found, InList(read.name)));
    return;
  }
  TableColumn column;
  column.name = read.name;
  column.position = read.position;
  column.text = true;
  for (size_t code = 0; code < read.texts.size(); ++code) {
    if (learned.texts[code]) column.categories.push_back(read.texts[code]);
  }
  for (const float number : learned.numbers) column.categories.push_back(NumberText(number));
  std::sort(column.categories.begin(), column.categories.end());
  const auto end = std::unique(column.categories.begin(), column.categories.end());
  column.categories.erase(end, column.categories.end());
  column.indicator =
      reading_.options().missing == TableMissing::kIndicator && read.missing_cells > 0;
  if (column.features() == 0) {  // Its texts occur only in samples that do not train.
    out_.schema.left_out.push_back(read.name);
    return;
  }
  if (count > kManyCategories) {
    out_.notes.push_back(fmt::format(
        "column {} has {} categories, and each becomes a feature; `drop` {} leaves it out",
        Quoted(read.name), count, InList(read.name)));
  }
  out_.schema.columns.push_back(std::move(column));
}

void Learner::AddNumbers(size_t index) {
  const TableReading::Column& read = reading_.columns()[index];
  const Learned& learned = columns_[index];
  TableColumn column;
  column.name = read.name;
  column.position = read.position;
  column.form = read.form;
  column.fill = Median(learned.some);
  if (out_.schema.scale == TableScale::kStandard) {
    column.mean = learned.moments.mean;
    column.deviation = learned.moments.Deviation();
  }
  column.indicator =
      reading_.options().missing == TableMissing::kIndicator && read.missing_cells > 0;
  out_.schema.columns.push_back(std::move(column));
}

// True if all values are within -1 and 1 and not all of them are close together.
bool Learner::AlreadyAlike() const {
  constexpr double kWide = 0.1;
  bool wide = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!reading_.columns()[i].numbers_only) return false;
    const Moments& moments = columns_[i].moments;
    if (moments.largest > 1) return false;
    wide = wide || moments.Deviation() >= kWide;
  }
  return wide;
}

// Recognises pixels: many columns of whole numbers from 0 up, half of which reach half of the
// largest. Scaling by deviation would blow up their rare values.
bool Learner::LikePixels() const {
  constexpr size_t kLeastPixels = 32;
  double largest = 0;
  for (const Learned& column : columns_) largest = std::max(largest, column.moments.largest);
  size_t used = 0, high = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Moments& moments = columns_[i].moments;
    if (!reading_.columns()[i].numbers_only || !moments.whole || moments.least < 0) return false;
    if (moments.largest > 0) ++used;
    if (moments.largest > 0 && 2 * moments.largest >= largest) ++high;
  }
  return used >= kLeastPixels && 2 * high >= used;
}

Result<LearnedTable> Learner::Finish(bool regression) && {
  const TableOptions& options = reading_.options();
  TableSchema& schema = out_.schema;
  schema.named = reading_.named();
  schema.file_columns = reading_.file_columns();
  schema.label = reading_.label();
  schema.label_position = reading_.label_position();
  schema.left_out = reading_.left_out();
  schema.regression = regression;
  schema.missing = options.missing;
  schema.scale = options.scale;
  if (!options.scale_given && AlreadyAlike()) {
    schema.scale = TableScale::kNone;
  } else if (!options.scale_given && LikePixels()) {
    schema.scale = TableScale::kLargest;
  }
  uint64_t missing_cells = 0;
  size_t missing_columns = 0, numbers = 0, texts = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const size_t before = schema.columns.size();
    reading_.columns()[i].numbers_only ? AddNumbers(i) : AddText(i);
    if (schema.columns.size() == before) continue;
    ++(schema.columns.back().text ? texts : numbers);
    missing_cells += reading_.columns()[i].missing_cells;
    missing_columns += reading_.columns()[i].missing_cells > 0 ? 1 : 0;
  }
  if (schema.columns.empty()) {
    return Status::DataError("no column is left for features: each has too many different texts");
  }
  if (schema.features() > kMaxFeatures) {
    return Status::DataError(fmt::format("its columns make {} features", schema.features()));
  }
  // Targets are standardised even if features are not: learning rates and the test for progress
  // rely on it.
  const bool standard = schema.scale == TableScale::kStandard || !options.scale_given;
  if (regression && standard && options.standard_target) {
    schema.target_mean = target_.mean;
    schema.target_deviation = target_.Deviation() > 0 ? target_.Deviation() : 1;
  }
  if (texts > 0) {
    out_.notes.push_back(
        fmt::format("{} of numbers and {} of text become {}, one for each category",
                    Counted(numbers, "column"), texts, Counted(schema.features(), "feature")));
  }
  if (missing_cells > 0) {
    out_.notes.push_back(
        fmt::format("{} in {} missing: {}; to change it, use `missing`",
                    missing_cells == 1 ? "1 value" : fmt::format("{} values", missing_cells),
                    Counted(missing_columns, "column") + (missing_cells == 1 ? " is" : " are"),
                    schema.missing == TableMissing::kIndicator
                        ? "the column's median stands for a number, and one more feature tells"
                        : "the column's median stands for a number, no category for a text"));
  }
  if (schema.scale == TableScale::kStandard && numbers > 0) {
    out_.notes.push_back(fmt::format(
        "columns of numbers{} are standardised (mean 0, deviation 1); to change it, use `scale`",
        regression && options.standard_target ? " and the target" : ""));
  } else if (schema.target_mean != 0 || schema.target_deviation != 1) {
    out_.notes.emplace_back(kTargetNote);
  }
  return std::move(out_);
}

// Calls visit(block) for the samples `rows` of `source`, in stored order.
template <typename Visit>
Status EachBlock(const DataSource& source, std::optional<std::span<const uint32_t>> rows,
                 const Unwanted& unwanted, const Visit& visit) {
  std::vector<uint32_t> ascending;
  if (rows) {
    ascending.assign(rows->begin(), rows->end());
    std::sort(ascending.begin(), ascending.end());
  }
  const size_t count = rows ? rows->size() : source.shape().rows;
  for (size_t begin = 0; begin < count; begin += kBlockRows) {
    if (unwanted && unwanted()) return Status::Cancelled("the reading of samples was stopped");
    const size_t end = std::min(count, begin + kBlockRows);
    MOTLEY_ASSIGN_OR_RETURN(
        const Dataset block,
        rows ? source.Gather(std::span<const uint32_t>(ascending).subspan(begin, end - begin))
             : source.Range(begin, end));
    visit(block);
  }
  return Status::Ok();
}

}  // namespace

Result<LearnedTable> LearnTable(const TableReading& reading, const DataSource& cells,
                                std::optional<std::span<const uint32_t>> rows, bool regression,
                                const Unwanted& unwanted) {
  Learner learner(reading, rows ? rows->size() : cells.shape().rows);
  MOTLEY_RETURN_IF_ERROR(
      EachBlock(cells, rows, unwanted, [&](const Dataset& block) { learner.Add(block); }));
  return std::move(learner).Finish(regression);
}

Result<LearnedTable> LearnTarget(const DataSource& samples,
                                 std::optional<std::span<const uint32_t>> rows, TableScale scale,
                                 const Unwanted& unwanted) {
  Moments target;
  MOTLEY_RETURN_IF_ERROR(EachBlock(samples, rows, unwanted, [&](const Dataset& block) {
    for (const float label : block.label) target.Add(label);
  }));
  LearnedTable learned;
  learned.schema.regression = true;
  learned.schema.scale = scale;
  learned.schema.target_mean = target.mean;
  if (target.Deviation() > 0) learned.schema.target_deviation = target.Deviation();
  learned.notes.emplace_back(kTargetNote);
  return learned;
}

}  // namespace motley
