// SPDX-License-Identifier: Apache-2.0
#include "training/csv_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/suggest.h"
#include "training/text_scan.h"

namespace motley {
namespace {

using Fields = std::vector<std::string_view>;

// Cuts a line at delimiters outside quotes and takes blanks and quotes off each field. False: a
// quote that does not close.
bool SplitFields(std::string_view line, char delimiter, Fields& fields) {
  fields.clear();
  bool quoted = false;
  size_t begin = 0;
  for (size_t at = 0; at <= line.size(); ++at) {
    const bool end = at == line.size();
    if (!end && line[at] == '"') quoted = !quoted;
    if (!end && (quoted || line[at] != delimiter)) continue;
    std::string_view field = Trim(line.substr(begin, at - begin));
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') {
      field = Trim(field.substr(1, field.size() - 2));
    }
    fields.push_back(field);
    begin = at + 1;
  }
  return !quoted;
}

char DetectDelimiter(std::string_view first_line) {
  char best = ',';
  size_t most = 0;
  Fields fields;
  for (const char delimiter : {',', ';', '\t'}) {
    SplitFields(first_line, delimiter, fields);
    if (fields.size() > most) {
      most = fields.size();
      best = delimiter;
    }
  }
  return best;
}

// How tools write that a value is missing.
bool IsMissing(std::string_view field) {
  static constexpr std::string_view kMarks[] = {"NA", "N/A", "n/a", "null", "NULL", "None"};
  return std::find(std::begin(kMarks), std::end(kMarks), field) != std::end(kMarks);
}

// A line of names has a field that starts like a name; "nan" and "inf" are bad numbers instead.
bool IsHeader(const Fields& fields) {
  return std::any_of(fields.begin(), fields.end(), [](std::string_view field) {
    if (field.empty() || IsMissing(field)) return false;
    const auto first = static_cast<unsigned char>(field.front());
    double number = 0;
    const auto parsed = std::from_chars(field.data(), field.data() + field.size(), number);
    const bool is_number = parsed.ptr == field.data() + field.size();
    return (std::isalpha(first) != 0 || first == '_' || first >= 128) && !is_number;
  });
}

// The label's column: a name of the header, or else a number from 0; the last when not given.
Result<size_t> LabelColumn(const std::string& label, const Fields& first, bool header) {
  if (first.size() < 2) {
    return Status::DataError(
        "only one column; a sample needs features and a label, separated by ',', ';' or tabs");
  }
  if (label.empty()) return first.size() - 1;
  const auto named = std::find(first.begin(), first.end(), label);
  if (header && named != first.end()) return static_cast<size_t>(named - first.begin());
  size_t index = 0;
  const char* end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data(), end, index);
  if (error == std::errc() && stop == end && index < first.size()) return index;
  const std::string numbers = fmt::format("a number from 0 to {}", first.size() - 1);
  if (!header) {
    return Status::NotFound(
        fmt::format("no label column {}; the file has no line of column names, "
                    "so give {}",
                    Quoted(label), numbers));
  }
  return Status::NotFound(fmt::format("no label column {}; give {} or a name{}", Quoted(label),
                                      numbers, DidYouMean(label, first)));
}

class CsvParser {
 public:
  CsvParser(const InputFile& file, StreamReader& stream, const ReadOptions& options)
      : lines_(stream, file.path), options_(options) {
    samples_.path = file.path;
  }

  Status Run(SampleSink& sink) {
    std::string_view line;
    while (true) {
      const Result<bool> more = lines_.Next(line);
      if (!more.ok()) return more.status();
      if (!*more) return sink.Take(samples_);
      if (Trim(line).empty()) continue;
      const Status added = AddLine(line);
      if (!added.ok()) {
        return added.WithContext(fmt::format("{}:{}", samples_.path, lines_.number()));
      }
      MOTLEY_RETURN_IF_ERROR(TakeIfFull(samples_, sink));
    }
  }

 private:
  Status AddLine(std::string_view line) {
    const bool first = columns_ == 0;
    if (first) delimiter_ = DetectDelimiter(line);
    if (!SplitFields(line, delimiter_, fields_)) {
      return Status::DataError("a quote is not closed");
    }
    if (first) {
      const bool header = IsHeader(fields_);
      MOTLEY_ASSIGN_OR_RETURN(label_column_, LabelColumn(options_.label, fields_, header));
      if (fields_.size() - 1 > kMaxFeatures) {
        return Status::DataError(fmt::format("more than {} columns", kMaxFeatures));
      }
      columns_ = fields_.size();
      samples_.features = static_cast<uint32_t>(columns_ - 1);
      if (header) return AddNames();
    }
    return AddSample();
  }

  Status AddNames() {
    names_.assign(fields_.begin(), fields_.end());
    for (size_t column = 0; column < columns_; ++column) {
      if (column != label_column_) samples_.names.push_back(names_[column]);
    }
    return Status::Ok();
  }

  Status AddSample() {
    if (fields_.size() != columns_) {
      return Status::DataError(
          fmt::format("{} columns where the first line has {}", fields_.size(), columns_));
    }
    for (size_t column = 0; column < columns_; ++column) {
      const auto number = ParseNumber(fields_[column]);
      if (!number.ok()) return number.status().WithContext(Name(column));
      if (column == label_column_) {
        samples_.label.push_back(*number);
      } else {
        samples_.dense.push_back(static_cast<float>(*number));
      }
    }
    samples_.line.push_back(lines_.number());
    return Status::Ok();
  }

  std::string Name(size_t column) const {
    if (names_.empty()) return fmt::format("column {} (the first is 0)", column);
    return fmt::format("column {} ({})", column, names_[column]);
  }

  LineReader lines_;
  const ReadOptions& options_;
  RawSamples samples_;
  Fields fields_;
  char delimiter_ = ',';
  size_t columns_ = 0;              // 0 until the first line.
  std::vector<std::string> names_;  // Of all columns, if the first line has them.
  size_t label_column_ = 0;
};

Status ReadCsv(const InputFile& file, StreamReader& stream, const ReadOptions& options,
               SampleSink& sink) {
  return CsvParser(file, stream, options).Run(sink);
}

}  // namespace

// Any text that nothing else claims.
const FileFormat kCsvFormat = {
    "CSV", [](std::string_view head) { return head.find('\0') == std::string_view::npos; },
    ReadCsv};

}  // namespace motley
