// SPDX-License-Identifier: Apache-2.0
#include "data/tables/table_reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/counted.h"
#include "base/suggest.h"
#include "data/files/text_scan.h"

namespace motley {
namespace {

constexpr size_t kShownNames = 5;

// A list like "'a', 'b' and 3 more".
std::string ListOf(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kShownNames); ++i) {
    shown.push_back(Quoted(names[i]));
  }
  const std::string list = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() <= kShownNames) return list;
  return fmt::format("{} and {} more", list, names.size() - kShownNames);
}

// True for the unnamed first column in which pandas writes row numbers.
bool NumbersRows(size_t column, const std::string& name) {
  return column == 0 && (name.empty() || name == "Unnamed: 0");
}

std::optional<float> TruthOf(std::string_view field) {
  if (field == "True" || field == "TRUE" || field == "true") return 1.0f;
  if (field == "False" || field == "FALSE" || field == "false") return 0.0f;
  return std::nullopt;
}

bool MayBeNumber(std::string_view field) {
  const char first = field.front();
  return (first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.';
}

bool IsUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const unsigned first = byte(0);
    const size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : 4;
    const bool starts = first < 0x80 || (first >= 0xc2 && first < 0xf5);
    if (!starts || at + length > text.size()) return false;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    // Overlong encodings, surrogates, and values beyond the last code point.
    const bool wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                       (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    if (wrong) return false;
    at += length;
  }
  return true;
}

}  // namespace

std::string AsUtf8(std::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out += static_cast<char>(0xc0 | byte >> 6);
    out += byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3f));
  }
  return out;
}

bool MeansMissing(std::string_view field) {
  static constexpr std::string_view kMarks[] = {"",     "NA",   "N/A",  "n/a",  "NaN",  "nan",
                                                "null", "NULL", "Null", "None", "#N/A", "<NA>",
                                                "?",    "-NaN", "-nan", "#NA"};
  return std::find(std::begin(kMarks), std::end(kMarks), field) != std::end(kMarks);
}

bool LooksMissing(std::string_view field) {
  static constexpr std::string_view kMarks[] = {
      "-",         "--",     "---",    ".",       "..",      "...",           "*",
      "na",        "n.a",    "n.a.",   "n/a",     "nan",     "nil",           "null",
      "(null)",    "<null>", "none",   "no data", "missing", "not available", "unknown",
      "undefined", "blank",  "empty",  "#na",     "#value!", "#div/0!",       "#ref!",
      "#num!",     "#null!", "#name?", "?",       "??",      "???",           "-nan"};
  std::string lower(field);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(std::begin(kMarks), std::end(kMarks), lower) != std::end(kMarks);
}

std::string NumberText(float number) { return fmt::format("{}", number); }

TableReading::TableReading(std::shared_ptr<const TableSchema> known, KnownFrom from)
    : schema_(std::move(known)),
      from_(from),
      begun_(true),
      named_(schema_->named),
      file_columns_(schema_->file_columns),
      label_(schema_->label),
      label_position_(schema_->label_position) {
  options_ = {.scale = schema_->scale, .scale_given = true, .missing = schema_->missing};
  for (const TableColumn& known_column : schema_->columns) {
    Column& column = columns_.emplace_back();
    column.name = known_column.name;
    column.position = known_column.position;
    column.numbers_only = !known_column.text;
    for (const std::string& category : known_column.categories) {
      column.codes[category] = static_cast<uint32_t>(column.texts.size());
      column.texts.push_back(category);
      column.lines.push_back(0);
    }
  }
}

std::shared_ptr<TableReading> TableReading::OfNumbers(uint32_t features, TableOptions options) {
  auto reading = std::make_shared<TableReading>(std::move(options));
  reading->begun_ = true;
  reading->file_columns_ = features + 1;
  reading->label_position_ = features;
  for (uint32_t feature = 0; feature < features; ++feature) {
    Column& column = reading->columns_.emplace_back();
    column.name = std::to_string(feature);
    column.position = feature;
    column.numbers_only = true;
  }
  return reading;
}

bool TableReading::KnowsName(std::string_view name) const {
  if (!begun_ || !named_) return false;
  return std::any_of(columns_.begin(), columns_.end(),
                     [&](const Column& column) { return column.name == name; });
}

Result<std::vector<int64_t>> TableReading::Begin(const std::string& path,
                                                 const std::vector<std::string>& fields, bool named,
                                                 std::optional<size_t> label) {
  if (!begun_) return Define(path, fields, named, label);
  if (named && named_) return MatchNames(path, fields, label);
  return MatchPositions(fields.size(), label);
}

Status TableReading::OtherData(const std::string& what) {
  return Status::Conflict(what +
                          ": these are not the data of the checkpoint's job. Give `data` of that "
                          "job, or start a new job in another folder");
}

Result<std::vector<int64_t>> TableReading::Define(const std::string& path,
                                                  const std::vector<std::string>& fields,
                                                  bool named, std::optional<size_t> label) {
  begun_ = true;
  first_path_ = path;
  named_ = named;
  file_columns_ = static_cast<uint32_t>(fields.size());
  std::vector<std::string> names;
  for (size_t i = 0; i < fields.size(); ++i) {
    names.push_back(named ? AsUtf8(fields[i]) : std::to_string(i));
  }
  label_position_ = static_cast<uint32_t>(label.value_or(fields.size()));
  if (label) label_ = names[*label];
  for (const std::string& name : options_.drop) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return Status::NotFound(
          fmt::format("`drop`: there is no column {}{}", Quoted(name),
                      DidYouMean(name, std::vector<std::string_view>(names.begin(), names.end()))));
    }
    if (found - names.begin() == label_position_) {
      return Status::InvalidArgument(fmt::format("`drop` {}: that is the label's column", name));
    }
  }
  std::vector<int64_t> places;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool dropped =
        std::find(options_.drop.begin(), options_.drop.end(), names[i]) != options_.drop.end();
    const bool rows = named && NumbersRows(i, names[i]) && fields.size() > 2;
    if (i == label) {
      places.push_back(kLabel);
    } else if (dropped || rows) {
      places.push_back(kNowhere);
      left_out_.push_back(names[i]);
      if (rows && !dropped) {
        notes_.push_back(
            fmt::format("the first column of {} has no name: it is taken for row numbers and left "
                        "out. Give it a name to keep it",
                        path));
      }
    } else {
      places.push_back(static_cast<int64_t>(columns_.size()));
      Column& column = columns_.emplace_back();
      column.name = names[i];
      column.position = static_cast<uint32_t>(i);
    }
  }
  if (!columns_.empty()) return places;
  return Status::DataError("no column is left for features");
}

Result<std::vector<int64_t>> TableReading::MatchNames(const std::string& path,
                                                      const std::vector<std::string>& fields,
                                                      std::optional<size_t> label) {
  std::vector<int64_t> places(fields.size(), kNowhere);
  const auto& known = schema_ != nullptr ? schema_->left_out : left_out_;
  const auto left_out = [&](size_t i) {
    return std::find(known.begin(), known.end(), AsUtf8(fields[i])) != known.end();
  };
  // Columns of one name are distinguished by their order; the last of each list is the next.
  std::unordered_map<std::string, std::vector<size_t>> found;
  for (size_t i = fields.size(); i-- > 0;) {
    const bool rows = NumbersRows(i, AsUtf8(fields[i])) && left_out(i);
    if (!rows) found[AsUtf8(fields[i])].push_back(i);
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const auto at = found.find(columns_[i].name);
    if (at == found.end() || at->second.empty()) {
      missing.push_back(columns_[i].name);
      continue;
    }
    places[at->second.back()] = static_cast<int64_t>(i);
    at->second.pop_back();
  }
  if (!missing.empty()) {
    const bool one = missing.size() == 1;
    const std::string lacked =
        fmt::format("{} {}", one ? "lacks the column" : "lacks the columns", ListOf(missing));
    if (resumes()) return OtherData(lacked);
    return Status::DataError(fmt::format("{}, which the {} was trained on: add {}", lacked,
                                         schema_ != nullptr ? "model" : "job",
                                         one ? "it" : "them"));
  }
  if (!label) {
    const auto at = found.find(label_);
    if (at != found.end() && !at->second.empty()) label = at->second.back();
  }
  if (label && places[*label] >= 0) {
    return Status::InvalidArgument(fmt::format("`label` {}: the {} has this column as a feature",
                                               Quoted(fields[*label]),
                                               schema_ != nullptr ? "model" : "job"));
  }
  if (label) places[*label] = kLabel;
  if (!label && !labels_optional()) {
    return Status::DataError(fmt::format("lacks the label's column {}", Quoted(label_)));
  }
  std::vector<std::string> extra;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (places[i] == kNowhere && !left_out(i)) extra.push_back(fields[i]);
  }
  if (!extra.empty()) {
    notes_.push_back(
        fmt::format("{}: {} {} not known to the model and ignored", path,
                    (extra.size() == 1 ? "the column " : "the columns ") + ListOf(extra),
                    extra.size() == 1 ? "is" : "are"));
  }
  return places;
}

Result<std::vector<int64_t>> TableReading::MatchPositions(size_t count,
                                                          std::optional<size_t> label) const {
  const bool labelled = count == file_columns_;
  if (!labelled && !(labels_optional() && count + 1 == file_columns_)) {
    const std::string other = fmt::format("has {} where the file that was learned from has {}",
                                          Counted(count, "column"), file_columns_);
    if (resumes()) return OtherData(other);
    return Status::DataError(other + (labels_optional() ? ", the label's among them" : ""));
  }
  if (!labelled && label) {
    return Status::InvalidArgument(fmt::format(
        "`label` {}: the file has {}, which are those of the features alone. Leave `label` out",
        *label, Counted(count, "column")));
  }
  // The other columns keep their order, no matter where the label is.
  const size_t label_at = labelled ? label.value_or(label_position_) : count;
  std::vector<int64_t> places(count, kNowhere);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const uint32_t position = columns_[i].position;
    const size_t among = position - (position > label_position_ ? 1 : 0);
    places[among + (among >= label_at ? 1 : 0)] = static_cast<int64_t>(i);
  }
  if (labelled) places[label_at] = kLabel;
  return places;
}

Result<float> TableReading::Cell(size_t index, std::string_view field, uint32_t line) {
  Column& column = columns_[index];
  if (!field.empty() && MayBeNumber(field)) {
    const Result<double> number = ParseNumber(field);
    if (number.ok()) {
      ++column.number_cells;
      return static_cast<float>(*number);
    }
  }
  if (MeansMissing(field)) {
    ++column.missing_cells;
    if (options_.missing != TableMissing::kError) return MissingCell();
    return Status::DataError(
        "a value is missing: fill it in, or use `missing` median, which puts the column's median "
        "in its place");
  }
  if (const auto truth = TruthOf(field)) {
    ++column.number_cells;
    return *truth;
  }
  const Result<double> number = ParseNumber(field);
  const bool text = number.status().message().ends_with("is not a number");
  if (!text) return number.status();  // The number is infinite.
  std::string key = AsUtf8(field);
  if (column.numbers_only && LooksMissing(field) && options_.missing != TableMissing::kError) {
    std::vector<std::string>& marks = column.marks;
    if (std::find(marks.begin(), marks.end(), key) == marks.end()) marks.push_back(std::move(key));
    ++column.missing_cells;
    return MissingCell();
  }
  if (column.numbers_only) {
    return number.status().WithContext("the column had only numbers in the data of the model");
  }
  ++column.text_cells;
  const auto found = column.codes.find(key);
  if (found != column.codes.end()) return TextCell(found->second);
  const auto code = static_cast<uint32_t>(column.texts.size());
  if (code == kMostTexts) return TextCell(kMostTexts);  // All further texts share one code.
  column.texts.push_back(key);
  column.lines.push_back(line);
  column.codes.emplace(std::move(key), code);
  return TextCell(code);
}

// True if all texts of the column stand for missing values among numbers. The column then has no
// texts.
bool TableReading::TakeMarks(Column& column) {
  const bool marks = column.number_cells >= column.text_cells && column.texts.size() < kMostTexts &&
                     options_.missing != TableMissing::kError &&
                     std::all_of(column.texts.begin(), column.texts.end(), LooksMissing);
  if (!marks) return false;
  column.marks = std::exchange(column.texts, {});
  column.lines.clear();
  column.codes.clear();
  column.missing_cells += std::exchange(column.text_cells, 0);
  return true;
}

Status TableReading::EndFirst() {
  if (schema_ != nullptr) return Status::Ok();
  // So few texts among many more numbers are taken for typing errors.
  constexpr uint64_t kFew = 20;
  for (Column& column : columns_) {
    column.numbers_only = column.text_cells == 0 || TakeMarks(column);
    const uint64_t cells = column.text_cells + column.number_cells;
    if (column.numbers_only || column.text_cells * kFew > cells) continue;
    const auto odd = std::find_if_not(column.texts.begin(), column.texts.end(), LooksMissing);
    const size_t shown =
        odd == column.texts.end() ? 0 : static_cast<size_t>(odd - column.texts.begin());
    return Status::DataError(fmt::format(
        "{}:{}: column {} ({}): {} is not a number, as {} of {} values of the column are. Correct "
        "it, leave it empty if it is missing, or leave the column out with `drop` {}",
        first_path_, column.lines[shown], column.position, column.name, Quoted(column.texts[shown]),
        column.number_cells, cells, column.name));
  }
  return Status::Ok();
}

std::vector<std::string> TableReading::TakeNotes() {
  if (unlabelled_ > 0 && !labels_optional()) {
    notes_.push_back(fmt::format("{} without a label {} left out", Counted(unlabelled_, "row"),
                                 unlabelled_ == 1 ? "is" : "are"));
  }
  for (Column& column : columns_) {
    if (column.marks.empty()) continue;
    notes_.push_back(fmt::format("column {}: {} {} taken for a missing value", Quoted(column.name),
                                 ListOf(column.marks),
                                 column.marks.size() == 1 ? "is" : "are each"));
    column.marks.clear();
  }
  for (size_t i = 0; schema_ != nullptr && i < columns_.size(); ++i) {
    const std::vector<std::string>& texts = columns_[i].texts;
    const size_t known = schema_->columns[i].categories.size();
    if (texts.size() <= known) continue;
    const std::vector<std::string> unknown(texts.begin() + static_cast<ptrdiff_t>(known),
                                           texts.end());
    notes_.push_back(
        fmt::format("column {}: {} {} not among the categories that the model knows, "
                    "and counts as none of them",
                    Quoted(columns_[i].name), ListOf(unknown), unknown.size() == 1 ? "is" : "are"));
  }
  return std::exchange(notes_, {});
}

}  // namespace motley
