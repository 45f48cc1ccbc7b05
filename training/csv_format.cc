// SPDX-License-Identifier: Apache-2.0
#include "training/csv_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

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

// 0,1,2,...: what pandas writes as names of columns that have none.
bool CountsColumns(const Fields& fields) {
  for (size_t column = 0; column < fields.size(); ++column) {
    if (fields[column] != std::to_string(column)) return false;
  }
  return true;
}

// Hardly any data have the sample 0,1,2,3, in this order, on the first line.
constexpr size_t kSurelyNames = 4;

bool HasFraction(const Fields& fields) {
  return std::any_of(fields.begin(), fields.end(), [](std::string_view field) {
    return field.find_first_of(".eE") != std::string_view::npos;
  });
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return lower;
}

// The columns that are called what labels are usually called. Of three columns or more, `y` beside
// `x` is a coordinate.
std::vector<size_t> UsualLabels(const Fields& fields) {
  std::vector<std::string> names;
  for (const std::string_view field : fields) names.push_back(LowerCase(field));
  const bool coordinates =
      names.size() > 2 && std::find(names.begin(), names.end(), "x") != names.end();
  std::vector<size_t> found;
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    const bool usual = name == "label" || name == "target" || name == "class";
    if (usual || (name == "y" && !coordinates)) found.push_back(column);
  }
  return found;
}

// The label's column: a name of the header, or else a number from 0. When not given, the only one
// with a usual name, else the last.
Result<size_t> LabelColumn(const std::string& label, const Fields& first, bool header) {
  if (first.size() < 2) {
    return Status::DataError(
        "only one column; a sample needs features and a label, separated by ',', ';' or tabs");
  }
  if (label.empty()) {
    const std::vector<size_t> usual = header ? UsualLabels(first) : std::vector<size_t>();
    return usual.size() == 1 ? usual.front() : first.size() - 1;
  }
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
      if (!*more) {
        AddHeldLine();
        return sink.Take(samples_);
      }
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
    if (first) return AddFirstLine();
    if (held_line_ != 0 && HasFraction(fields_)) {
      held_line_ = 0;
      NameByNumber();
    }
    AddHeldLine();
    return AddSample(lines_.number());
  }

  Status AddFirstLine() {
    const bool counts = CountsColumns(fields_);
    const bool header = IsHeader(fields_);
    MOTLEY_ASSIGN_OR_RETURN(label_column_, LabelColumn(options_.label, fields_, header));
    if (fields_.size() - 1 > kMaxFeatures) {
      return Status::DataError(fmt::format("more than {} columns", kMaxFeatures));
    }
    columns_ = fields_.size();
    samples_.features = static_cast<uint32_t>(columns_ - 1);
    if (header) {
      AddNames({fields_.begin(), fields_.end()});
      TellLabel();
      return Status::Ok();
    }
    if (counts && columns_ >= kSurelyNames) {
      NameByNumber();
      return Status::Ok();
    }
    if (counts) {  // The next line tells what it is.
      held_line_ = lines_.number();
      return Status::Ok();
    }
    return AddSample(lines_.number());
  }

  // A first line 0,1,2,... that is a sample after all.
  void AddHeldLine() {
    if (held_line_ == 0) return;
    for (size_t column = 0; column < columns_; ++column) {
      AddValue(column, static_cast<double>(column));
    }
    samples_.line.push_back(std::exchange(held_line_, 0));
  }

  void NameByNumber() {
    std::vector<std::string> names;
    for (size_t column = 0; column < columns_; ++column) names.push_back(std::to_string(column));
    AddNames(std::move(names));
    samples_.notes.push_back(
        fmt::format("the first line of {}, 0 to {}, is taken for the names of the columns",
                    samples_.path, columns_ - 1));
  }

  void AddNames(std::vector<std::string> names) {
    names_ = std::move(names);
    for (size_t column = 0; column < columns_; ++column) {
      if (column != label_column_) samples_.names.push_back(names_[column]);
    }
  }

  // Where nobody said which column it is, and the last is not or may not be meant.
  void TellLabel() {
    if (!options_.label.empty()) return;
    if (label_column_ + 1 != columns_) {
      samples_.notes.push_back(
          fmt::format("column {} of {} is taken for the label, because of its name; `label` says "
                      "otherwise",
                      Quoted(names_[label_column_]), samples_.path));
    } else if (const auto usual = UsualLabels(fields_);
               usual.size() > 1 && usual.back() + 1 != columns_) {
      samples_.notes.push_back(
          fmt::format("{} has {} columns with names of a label; the last column, {}, is taken; "
                      "`label` says otherwise",
                      samples_.path, usual.size(), Quoted(names_.back())));
    }
  }

  void AddValue(size_t column, double number) {
    if (column == label_column_) {
      samples_.label.push_back(number);
    } else {
      samples_.dense.push_back(static_cast<float>(number));
    }
  }

  Status AddSample(uint32_t line) {
    if (fields_.size() != columns_) {
      return Status::DataError(
          fmt::format("{} columns where the first line has {}", fields_.size(), columns_));
    }
    for (size_t column = 0; column < columns_; ++column) {
      const auto number = ParseNumber(fields_[column]);
      if (!number.ok()) return number.status().WithContext(Name(column));
      AddValue(column, *number);
    }
    samples_.line.push_back(line);
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
  uint32_t held_line_ = 0;  // Of a first line that may be a sample or names; 0: none is held.
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
