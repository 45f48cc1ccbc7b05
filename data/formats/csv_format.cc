// SPDX-License-Identifier: Apache-2.0
#include "data/formats/csv_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "base/counted.h"
#include "data/files/text_scan.h"
#include "data/formats/csv_line.h"
#include "data/tables/label_column.h"
#include "data/tables/table_reading.h"
#include "data/tables/written_number.h"

namespace motley {
namespace {

using Fields = std::vector<std::string_view>;
constexpr std::string_view kDelimiters = ",;\t";

char DetectDelimiter(std::string_view first_line) {
  char best = ',';
  size_t most = 0;
  CsvFields fields;
  for (const char delimiter : kDelimiters) {
    fields.Split(first_line, delimiter);
    if (fields.all().size() > most) {
      most = fields.all().size();
      best = delimiter;
    }
  }
  return best;
}

// A line of names has a field that starts like a name. "nan" and "inf" count as bad numbers.
bool IsHeader(const Fields& fields) {
  return std::any_of(fields.begin(), fields.end(), [](std::string_view field) {
    if (MeansMissing(field)) return false;
    const auto first = static_cast<unsigned char>(field.front());
    double number = 0;
    const auto parsed = std::from_chars(field.data(), field.data() + field.size(), number);
    const bool is_number = parsed.ptr == field.data() + field.size();
    return (std::isalpha(first) != 0 || first == '_' || first >= 128) && !is_number;
  });
}

// True for 0,1,2,..., which pandas writes for unnamed columns.
bool CountsColumns(const Fields& fields) {
  for (size_t column = 0; column < fields.size(); ++column) {
    if (fields[column] != std::to_string(column)) return false;
  }
  return true;
}

// From four columns on, a first line 0,1,2,3 is taken for names: it is very rarely a sample.
constexpr size_t kSurelyNames = 4;

bool HasFraction(const Fields& fields) {
  return std::any_of(fields.begin(), fields.end(), [](std::string_view field) {
    return field.find_first_of(".eE") != std::string_view::npos;
  });
}

bool IsNumber(std::string_view field) { return ParseNumber(field).ok(); }

// True for whole numbers in equal steps, like 2019,2020,2021: names of years or wavelengths.
bool CountsUp(const Fields& fields) {
  double last = 0, step = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    const Result<double> number = ParseNumber(fields[i]);
    if (!number.ok() || *number != std::floor(*number)) return false;
    if (i > 0 && (*number <= last || (i > 1 && *number - last != step))) return false;
    step = *number - last;
    last = *number;
  }
  return fields.size() >= kSurelyNames;
}

bool MostlyFractions(const Fields& fields) {
  const auto count = std::count_if(fields.begin(), fields.end(), [](std::string_view field) {
    return field.find('.') != std::string_view::npos;
  });
  return 2 * static_cast<size_t>(count) > fields.size();
}

bool AnyTwice(const Fields& fields) {
  std::set<std::string_view> seen;
  return std::any_of(fields.begin(), fields.end(), [&](std::string_view field) {
    return !field.empty() && !seen.insert(field).second;
  });
}

bool IsText(std::string_view field) { return !MeansMissing(field) && !IsNumber(field); }

// A first line that was taken for a sample because it has a text twice. If no other line has one of
// its texts in the same column, it is a header.
struct DoubtfulSample {
  std::string twice;               // Empty: there is no doubt.
  std::vector<std::string> texts;  // By column; empty for numbers and missing values.
};

DoubtfulSample DoubtfulSampleOf(const Fields& first) {
  DoubtfulSample doubt;
  std::set<std::string_view> seen;
  for (const std::string_view field : first) {
    doubt.texts.emplace_back(IsText(field) ? field : std::string_view());
    if (!IsText(field) || seen.insert(field).second) continue;
    if (doubt.twice.empty()) doubt.twice = field;
  }
  return doubt;
}

bool SharesAText(const DoubtfulSample& doubt, const Fields& line) {
  for (size_t i = 0; i < std::min(doubt.texts.size(), line.size()); ++i) {
    if (!line[i].empty() && line[i] == doubt.texts[i]) return true;
  }
  return false;
}

bool NameAboveNumber(const Fields& first, const Fields& second) {
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (!IsNumber(first[i]) && !MeansMissing(first[i]) && IsNumber(second[i])) return true;
  }
  return false;
}

// True if a table's first line has the names of its columns. Samples may have text, too, so the
// second line decides. Names are distinct, and they stand above a number, or the next line does not
// repeat any of them.
bool NamesATable(const Fields& first, const Fields& second) {
  if (AnyTwice(first)) return false;
  if (second.empty()) return true;
  size_t numbers = 0;
  bool repeated = false, years = true;
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    const bool number = IsNumber(first[i]);
    // Names like "5%" occur, names like "$1,137" do not.
    const bool written = LooksWritten(AsUtf8(first[i])) && !first[i].ends_with('%');
    if (!number && written) return false;
    const bool below = IsNumber(second[i]) || LooksWritten(AsUtf8(second[i]));
    if (!number && !MeansMissing(first[i]) && below) return true;
    numbers += number ? 1 : 0;
    repeated = repeated || (!number && !first[i].empty() && first[i] == second[i]);
    years = years && (!number || (first[i].find('.') == std::string_view::npos &&
                                  second[i].find('.') != std::string_view::npos));
  }
  // A single whole number above a fraction is as often a value as a name.
  return numbers > 0 ? years && numbers > 1 : !repeated;
}

class CsvParser {
 public:
  CsvParser(const InputFile& file, StreamReader& stream, const ReadOptions& options)
      : reader_(stream, file.path),
        lines_(reader_, file.path),
        options_(options),
        table_(options.table.get()) {
    samples_.path = file.path;
  }

  Status Run(SampleSink& sink) {
    std::string_view line;
    while (true) {
      const Result<bool> more =
          lines_.Next(first_line_.empty() ? kDelimiters : std::string_view(&delimiter_, 1), line);
      if (!more.ok()) return more.status();
      if (!*more) break;
      if (Trim(line).empty()) continue;
      if (!begun_ && first_line_.empty()) {
        first_line_ = line;
        first_number_ = lines_.number();
        delimiter_ = DetectDelimiter(first_line_);
        continue;
      }
      if (!begun_) MOTLEY_RETURN_IF_ERROR(Begin(line));
      MOTLEY_RETURN_IF_ERROR(AddLine(line, lines_.number()));
      MOTLEY_RETURN_IF_ERROR(TakeIfFull(samples_, sink));
    }
    if (!begun_ && !first_line_.empty()) MOTLEY_RETURN_IF_ERROR(Begin({}));
    MOTLEY_RETURN_IF_ERROR(At(first_number_, CheckFirstLine()));
    return sink.Take(samples_);
  }

 private:
  Status At(uint32_t line, const Status& status) const {
    if (status.ok()) return status;  // Avoids formatting a message that nobody needs.
    return status.WithContext(fmt::format("{}:{}", samples_.path, line));
  }

  // Decides by the second line what the first is; the second is empty if there is none.
  Status Begin(std::string_view second_line) {
    begun_ = true;
    CsvFields first_fields, second_fields;
    if (!first_fields.Split(first_line_, delimiter_)) {
      return At(first_number_, Status::DataError("a quote is not closed"));
    }
    if (!second_line.empty()) second_fields.Split(second_line, delimiter_);
    const Fields& first = first_fields.all();
    const Fields& second = second_fields.all();
    const bool surely = CountsColumns(first) && first.size() >= kSurelyNames;
    const bool numbered = surely || (CountsColumns(first) && HasFraction(second)) ||
                          (CountsUp(first) && MostlyFractions(second));
    const bool header = numbered || IsHeaderOf(first, second);
    columns_ = first.size();
    const bool learns = table_ != nullptr && !table_->begun();
    MOTLEY_RETURN_IF_ERROR(At(first_number_, Arrange(first, header)));
    if (numbered) {
      samples_.notes.push_back(
          fmt::format("the first line of {}, {} to {}, is taken for the names of the columns",
                      samples_.path, first.front(), first.back()));
    }
    if (header && !numbered && options_.label.empty() && label_column_) {
      std::string note = LabelNote(samples_.path, first, *label_column_);
      if (!note.empty()) samples_.notes.push_back(std::move(note));
    }
    if (header) return Status::Ok();
    MOTLEY_RETURN_IF_ERROR(AddLine(first_line_, first_number_));
    const bool doubtful = learns && label_column_ && IsText(first[*label_column_]);
    if (doubtful && !second.empty()) doubt_ = DoubtfulSampleOf(first);
    return Status::Ok();
  }

  // Fails if the first line was added as a sample and is a header with a name twice.
  Status CheckFirstLine() const {
    if (doubt_.twice.empty()) return Status::Ok();
    return Status::DataError(
        fmt::format("the header has the column {} twice. Rename one; if the line is a sample, put "
                    "a line of column names above it",
                    Quoted(doubt_.twice)));
  }

  bool IsHeaderOf(const Fields& first, const Fields& second) const {
    if (table_ == nullptr) return IsHeader(first);
    const bool asked = !options_.label.empty() && !IsNumber(options_.label);
    if (asked && std::find(first.begin(), first.end(), options_.label) != first.end()) return true;
    const bool known = std::any_of(first.begin(), first.end(), [&](std::string_view field) {
      return !IsNumber(field) && table_->KnowsName(field);
    });
    if (known) return true;
    if (table_->begun() && second.empty()) return false;  // A file of names alone has no samples.
    if (table_->begun() && !table_->named())
      return IsHeader(first) && NameAboveNumber(first, second);
    return IsHeader(first) && NamesATable(first, second);
  }

  // Finds the destination of each column.
  Status Arrange(const Fields& first, bool header) {
    if (columns_ > size_t{kMaxFeatures} + 1) {
      return Status::DataError(fmt::format("more than {} columns", kMaxFeatures));
    }
    const std::vector<std::string> fields(first.begin(), first.end());
    if (header) names_ = fields;
    const bool known = table_ != nullptr && table_->begun();
    const bool unlabelled =
        !known && options_.label.empty() && columns_ == options_.unlabelled_features;
    std::optional<size_t> label;
    if (!unlabelled && (!known || SaysLabel(header))) {
      if (columns_ < 2) {
        return Status::DataError(
            "only one column; a sample needs features and a label, separated by ',', ';' or tabs");
      }
      MOTLEY_ASSIGN_OR_RETURN(label, LabelColumn(options_.label, first, header));
      label_column_ = *label;
    }
    if (table_ != nullptr) {
      MOTLEY_ASSIGN_OR_RETURN(places_, table_->Begin(samples_.path, fields, header, label));
      for (const auto& column : table_->columns()) samples_.names.push_back(column.name);
      if (!table_->named()) samples_.names.clear();
      samples_.features = static_cast<uint32_t>(table_->columns().size());
      return Status::Ok();
    }
    int64_t next = 0;
    for (size_t i = 0; i < columns_; ++i) {
      places_.push_back(label == i ? TableReading::kLabel : next++);
      if (header && label != i) samples_.names.push_back(names_[i]);
    }
    samples_.features = static_cast<uint32_t>(next);
    return Status::Ok();
  }

  // True if `label` is given and adds to what a known table says. In a file without names a label's
  // name is useless.
  bool SaysLabel(bool header) const {
    const std::string& label = options_.label;
    return !label.empty() && (header || !table_->named() || label != table_->label());
  }

  Status AddLine(std::string_view line, uint32_t number) {
    if (!split_.Split(line, delimiter_)) {
      return At(number, Status::DataError("a quote is not closed"));
    }
    if (!doubt_.twice.empty() && SharesAText(doubt_, split_.all())) doubt_ = {};
    return At(number, AddSample(number));
  }

  Status AddSample(uint32_t line) {
    if (split_.all().size() != columns_) {
      return Status::DataError(fmt::format("{} where the first line has {}",
                                           Counted(split_.all().size(), "column"), columns_));
    }
    if (LacksLabel()) {
      table_->CountUnlabelled();
      return Status::Ok();
    }
    const size_t begin = samples_.dense.size();
    samples_.dense.resize(begin + samples_.features);
    bool labelled = false;
    for (size_t column = 0; column < columns_; ++column) {
      if (places_[column] == TableReading::kNowhere) continue;
      const bool label = places_[column] == TableReading::kLabel;
      labelled = labelled || label;
      const Status added =
          label ? AddLabel(split_.all()[column])
                : SetCell(split_.all()[column], places_[column], line,
                          samples_.dense[begin + static_cast<size_t>(places_[column])]);
      if (!added.ok()) return added.WithContext(Name(column));
    }
    if (!labelled) samples_.label.push_back(std::numeric_limits<double>::quiet_NaN());
    samples_.line.push_back(line);
    return Status::Ok();
  }

  // True for a row that cannot train because its label is missing.
  bool LacksLabel() const {
    if (table_ == nullptr || table_->labels_optional()) return false;
    for (size_t column = 0; column < columns_; ++column) {
      if (places_[column] == TableReading::kLabel) return MeansMissing(split_.all()[column]);
    }
    return false;
  }

  Status SetCell(std::string_view field, int64_t place, uint32_t line, float& cell) {
    if (table_ != nullptr) {
      MOTLEY_ASSIGN_OR_RETURN(cell, table_->Cell(static_cast<size_t>(place), field, line));
      return Status::Ok();
    }
    MOTLEY_ASSIGN_OR_RETURN(const double number, ParseNumber(field));
    cell = static_cast<float>(number);
    return Status::Ok();
  }

  Status AddLabel(std::string_view field) {
    const bool missing = table_ != nullptr && MeansMissing(field);
    const Result<double> number =
        table_ != nullptr ? table_->LabelNumber(field) : ParseNumber(field);
    const bool text = !missing && !number.ok();
    if (text && table_ == nullptr) return number.status();
    samples_.label.push_back(number.ok() && !missing ? *number
                                                     : std::numeric_limits<double>::quiet_NaN());
    if (!text) return Status::Ok();
    samples_.label_text.resize(samples_.label.size());
    samples_.label_text.back() = AsUtf8(field);
    return Status::Ok();
  }

  std::string Name(size_t column) const {
    if (names_.empty()) return fmt::format("column {} (the first is 0)", column);
    return fmt::format("column {} ({})", column, names_[column]);
  }

  LineReader reader_;
  CsvLines lines_;
  const ReadOptions& options_;
  TableReading* table_;  // Null: all fields are numbers.
  RawSamples samples_;
  CsvFields split_;
  std::string first_line_;  // Kept until it is known whether it has names.
  uint32_t first_number_ = 0;
  bool begun_ = false;
  char delimiter_ = ',';
  size_t columns_ = 0;
  std::vector<std::string> names_;  // Names of all columns, if the first line has them.
  std::optional<size_t> label_column_;
  DoubtfulSample doubt_;
  std::vector<int64_t> places_;  // Destination of each column, as from TableReading::Begin.
};

Status ReadCsv(const InputFile& file, StreamReader& stream, const ReadOptions& options,
               SampleSink& sink) {
  return CsvParser(file, stream, options).Run(sink);
}

}  // namespace

// CSV takes any text that no other format claims.
const FileFormat kCsvFormat = {
    "CSV", [](std::string_view head) { return head.find('\0') == std::string_view::npos; }, ReadCsv,
    nullptr, /*has_columns=*/true};

}  // namespace motley
