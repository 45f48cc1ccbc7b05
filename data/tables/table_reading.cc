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
#include "data/tables/column_names.h"

namespace motley {
namespace {

constexpr size_t kShownOrder = 12;  // Names of columns in their order.

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

// The number in a field, in the form of the column if that is known. A text, an empty field and a
// number that is not finite are kDataError. With a decimal comma, "1.137" is no plain number.
Result<double> ReadNumber(std::string_view field, const std::optional<NumberForm>& form,
                          std::optional<Decimal> decimal) {
  if (form) {
    if (const auto value = ParseWritten(AsUtf8(field), *form)) return *value;
  } else if (decimal != Decimal::kComma || field.find('.') == std::string_view::npos) {
    return ParseNumber(field);
  }
  return Status::DataError(Quoted(field) + " is not a number");
}

// The names of columns that have no place.
std::vector<std::string> Unused(const std::vector<std::string>& fields,
                                const std::vector<int64_t>& places) {
  std::vector<std::string> unused;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (places[i] == TableReading::kNowhere) unused.push_back(AsUtf8(fields[i]));
  }
  return unused;
}

}  // namespace

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
    column.form = known_column.form;
    for (const std::string& category : known_column.categories) {
      column.codes[category] = static_cast<uint32_t>(column.texts.size());
      column.texts.push_back(category);
      column.lines.push_back(0);
      column.counts.push_back(0);
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
  return MatchPositions(path, fields.size(), label);
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
  std::vector<bool> dropped(names.size());
  for (const std::string& name : options_.drop) {
    const std::vector<size_t> found = ColumnsNamed(name, names);
    if (found.empty()) {
      return Status::NotFound(
          fmt::format("`drop`: there is no column {}{}", Quoted(name),
                      DidYouMean(name, std::vector<std::string_view>(names.begin(), names.end()))));
    }
    if (found.front() == label_position_) {
      return Status::InvalidArgument(fmt::format("`drop` {}: that is the label's column", name));
    }
    for (const size_t column : found) dropped[column] = true;
  }
  std::vector<int64_t> places;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool rows = named && NumbersRows(i, names[i]) && fields.size() > 2;
    if (i == label) {
      places.push_back(kLabel);
    } else if (dropped[i] || rows) {
      places.push_back(kNowhere);
      left_out_.push_back(names[i]);
      if (rows && !dropped[i]) {
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
  std::vector<int64_t> places(fields.size(), kNowhere);
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
    return Status::DataError(fmt::format("{}, which the {} was trained on: add {}{}", lacked,
                                         schema_ != nullptr ? "model" : "job", one ? "it" : "them",
                                         Renaming(missing, Unused(fields, places))));
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
    return Status::DataError(fmt::format(
        "lacks the label's column {}{}", Quoted(label_),
        DidYouMean(label_, std::vector<std::string_view>(fields.begin(), fields.end()))));
  }
  std::vector<std::string> extra, twice;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (places[i] != kNowhere || left_out(i)) continue;
    const bool known_name = KnowsName(AsUtf8(fields[i])) || AsUtf8(fields[i]) == label_;
    const bool again = known_name && std::count(fields.begin(), fields.end(), fields[i]) > 1;
    (again ? twice : extra).push_back(fields[i]);
  }
  if (!twice.empty()) {
    notes_.push_back(fmt::format("{}: {} more than once, and the first is used", path,
                                 twice.size() == 1
                                     ? fmt::format("the column {} is there", ListOf(twice))
                                     : fmt::format("the columns {} are there", ListOf(twice))));
  }
  if (!extra.empty()) {
    notes_.push_back(
        fmt::format("{}: {} {} not known to the model and ignored", path,
                    (extra.size() == 1 ? "the column " : "the columns ") + ListOf(extra),
                    extra.size() == 1 ? "is" : "are"));
  }
  return places;
}

Result<std::vector<int64_t>> TableReading::MatchPositions(const std::string& path, size_t count,
                                                          std::optional<size_t> label) {
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
  if (!named_) return places;
  std::vector<std::string> names;
  for (const int64_t place : places) {
    names.push_back(place >= 0        ? columns_[static_cast<size_t>(place)].name
                    : place == kLabel ? label_
                                      : "(not used)");
  }
  if (names.size() > kShownOrder) {
    names.resize(kShownOrder);
    names.emplace_back("...");
  }
  notes_.push_back(fmt::format(
      "{} has no line of column names, so its columns are taken in the order of the {} table: {}",
      path, from_ ? "model's" : "training", fmt::join(names, ", ")));
  return places;
}

Result<double> TableReading::LabelNumber(std::string_view field) const {
  const auto form = schema_ != nullptr ? schema_->label_form : std::nullopt;
  return ReadNumber(field, form, options_.decimal);
}

Result<float> TableReading::Cell(size_t index, std::string_view field, uint32_t line) {
  Column& column = columns_[index];
  if (!field.empty() && MayBeNumber(field)) {
    const Result<double> number = ReadNumber(field, column.form, options_.decimal);
    if (number.ok()) {
      ++column.number_cells;
      column.point_cells += field.find('.') != std::string_view::npos ? 1 : 0;
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
  const Result<double> number = ReadNumber(field, column.form, options_.decimal);
  if (number.ok()) {
    ++column.number_cells;
    return static_cast<float>(*number);
  }
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
    const std::string form = column.form ? fmt::format(", with {},", Describe(*column.form)) : "";
    return number.status().WithContext(
        fmt::format("the column had only numbers{} in the data of the model", form));
  }
  ++column.text_cells;
  const auto found = column.codes.find(key);
  if (found != column.codes.end()) {
    ++column.counts[found->second];
    return TextCell(found->second);
  }
  const auto code = static_cast<uint32_t>(column.texts.size());
  if (code >= kMostTexts) return BeyondTexts(column, key, line);
  column.texts.push_back(key);
  column.lines.push_back(line);
  column.counts.push_back(1);
  column.codes.emplace(std::move(key), code);
  return TextCell(code);
}

// Encodes a text that the dictionary has no room for. The column is no longer one of categories. If
// its texts are written numbers so far, later ones are read as numbers at once.
float TableReading::BeyondTexts(Column& column, const std::string& text, uint32_t line) {
  if (!column.form && column.texts.size() == kMostTexts) {
    const FormFinder finder = FinderOf(column);
    const auto form = finder.Find(LikelyDecimal());
    if (form.ok() && finder.written() > 0) column.form = *form;
  }
  if (const auto value = column.form ? ParseWritten(text, *column.form) : std::nullopt) {
    --column.text_cells;
    ++column.number_cells;
    return static_cast<float>(*value);
  }
  if (column.texts.size() == kMostTexts) {  // All further texts share this code.
    column.texts.push_back(text);
    column.lines.push_back(line);
    column.counts.push_back(0);
  }
  ++column.counts[kMostTexts];
  return TextCell(kMostTexts);
}

FormFinder TableReading::FinderOf(const Column& column) const {
  FormFinder finder(options_.decimal);
  finder.AddPlain(column.number_cells, column.point_cells);
  for (size_t code = 0; code < column.texts.size(); ++code) {
    finder.Add(column.texts[code], column.counts[code]);
  }
  return finder;
}

Decimal TableReading::LikelyDecimal() const {
  bool comma = false;
  for (const Column& column : columns_) {
    const FormFinder finder = FinderOf(column);
    const bool numbers = 2 * finder.written() >= column.text_cells;
    if (column.point_cells > 0 && !column.form) return Decimal::kPoint;
    comma = comma || (column.form && column.form->decimal == Decimal::kComma);
    if (!numbers || finder.written() == 0 || !finder.only()) continue;
    if (finder.only() == Decimal::kPoint) return Decimal::kPoint;
    comma = true;
  }
  return comma ? Decimal::kComma : Decimal::kPoint;
}

// Decides about a column of the first file. `otherwise` is the mark where either fits. Adds to
// `read` if written numbers were read.
Status TableReading::EndColumn(Column& column, Decimal otherwise, WrittenColumns& read) {
  // So few texts among many more numbers are taken for typing errors.
  constexpr uint64_t kFew = 20;
  const FormFinder finder = FinderOf(column);
  const Result<NumberForm> found =
      column.form ? Result<NumberForm>(*column.form) : finder.Find(otherwise);
  const bool plain = finder.written() == 0 && options_.decimal != Decimal::kComma;
  const auto form = found.ok() && !plain ? std::optional(*found) : std::nullopt;
  uint64_t numbers = column.number_cells, marks = 0;
  std::vector<std::string> mark_texts;
  std::optional<size_t> odd;
  std::vector<float> values(column.texts.size(), MissingCell());
  for (size_t code = 0; code < values.size(); ++code) {
    const std::string& text = column.texts[code];
    if (const auto value = form ? ParseWritten(text, *form) : std::nullopt) {
      values[code] = static_cast<float>(*value);
      numbers += column.counts[code];
    } else if (LooksMissing(text) && options_.missing != TableMissing::kError) {
      marks += column.counts[code];
      mark_texts.push_back(text);
    } else if (!odd || (LooksMissing(column.texts[*odd]) && !LooksMissing(text))) {
      odd = code;
    }
  }
  const uint64_t cells = column.text_cells + column.number_cells;
  if (!odd && numbers >= marks) {
    column.numbers_only = true;
    column.form = form;
    if (finder.written() > 0) {
      const std::string said = Explain(finder.example(), *form, finder.either());
      read.insert(finder.either() ? read.begin() : read.end(), {column.name, said});
    }
    column.values = std::move(values);
    column.marks = std::move(mark_texts);
    column.missing_cells += marks;
    column.texts.clear();
    column.lines.clear();
    column.counts.clear();
    column.codes.clear();
    return Status::Ok();
  }
  column.form.reset();
  if ((cells - numbers) * kFew <= cells) {
    const size_t shown = odd.value_or(0);
    return Status::DataError(
        fmt::format("{}:{}: column {} ({}): {} is not a number, as {} of {} values of the column "
                    "are. Correct it, leave it empty if it is missing, or leave the column out "
                    "with `drop` {}",
                    first_path_, column.lines[shown], column.position, column.name,
                    Quoted(column.texts[shown]), numbers, cells, InList(column.name)));
  }
  const uint64_t alike = column.number_cells + finder.written();
  if (!found.ok() && (cells - marks - alike) * kFew <= cells - marks) {
    notes_.push_back(
        fmt::format("column {} looks like numbers, such as {}, but {}: each of its texts is a "
                    "category. Write them alike to have numbers",
                    Quoted(column.name), Quoted(finder.example()), found.status().message()));
  }
  return Status::Ok();
}

Status TableReading::EndFirst() {
  if (schema_ != nullptr) return Status::Ok();
  const Decimal otherwise = options_.decimal.value_or(LikelyDecimal());
  WrittenColumns read;
  for (Column& column : columns_) MOTLEY_RETURN_IF_ERROR(EndColumn(column, otherwise, read));
  if (read.empty()) return Status::Ok();
  if (read.size() == 1) {
    notes_.push_back(
        fmt::format("column {} is read as numbers: {}", Quoted(read[0].first), read[0].second));
    return Status::Ok();
  }
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(read.size(), kShownNames); ++i) {
    shown.push_back(fmt::format("{} ({})", Quoted(read[i].first), read[i].second));
  }
  const size_t more = read.size() - shown.size();
  notes_.push_back(fmt::format("{} columns are read as numbers: {}{}", read.size(),
                               fmt::join(shown, ", "),
                               more > 0 ? fmt::format(" and {} more", more) : ""));
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
