// SPDX-License-Identifier: Apache-2.0
#include "data/tables/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/files/text_scan.h"
#include "data/tables/table_reading.h"

namespace motley {
namespace {

constexpr size_t kFewLabels = 20;  // Whole numbers are classes if they are no more than these.
constexpr const char* kRegressionHint = "if the labels are quantities, use `model` linear";

std::string LabelText(double label) { return fmt::format("{}", label); }

}  // namespace

std::string Place(const RawSamples& samples, size_t row) {
  if (row < samples.line.size()) return fmt::format("{}:{}", samples.path, samples.line[row]);
  return fmt::format("{}: sample {}", samples.path, samples.first + row);
}

Result<float> LabelCoder::KnownCode(double label) const {
  if (!names_.empty()) return KnownCode(LabelText(label));
  const auto found = std::lower_bound(classes_.begin(), classes_.end(), label);
  if (found != classes_.end() && *found == label) {
    return static_cast<float>(found - classes_.begin());
  }
  return Status::DataError(
      fmt::format("the label {} is not one of the model's {} classes", label, classes_.size()));
}

Result<float> LabelCoder::KnownCode(const std::string& label) const {
  const auto found = std::lower_bound(names_.begin(), names_.end(), label);
  if (found != names_.end() && *found == label) return static_cast<float>(found - names_.begin());
  return Status::DataError(fmt::format("the label {} is not one of the model's {} classes",
                                       Quoted(label), classes_.size()));
}

Result<float> LabelCoder::CodeOfNumber(double label) {
  const bool whole = label == std::floor(label);
  fractions_ = fractions_ || !whole;
  if (kind_ == Kind::kRegression) return static_cast<float>(label);
  if (kind_ == Kind::kKnown) return KnownCode(label);
  const auto found = numbers_.find(label);
  if (found != numbers_.end()) return TextCell(found->second);
  if (kind_ == Kind::kDiscover && !whole && texts_.empty()) {
    return Status::DataError(
        fmt::format("the label {} is not a whole number; {}", label, kRegressionHint));
  }
  too_many_ = too_many_ || NextCode() == kMaxClasses;
  if (too_many_ && kind_ == Kind::kDiscover) {
    return Status::DataError(
        fmt::format("more than {} different labels; {}", kMaxClasses, kRegressionHint));
  }
  if (too_many_) return static_cast<float>(label);
  const uint32_t code = NextCode();
  numbers_[label] = code;
  return TextCell(code);
}

Result<float> LabelCoder::CodeOfText(const std::string& label) {
  if (kind_ == Kind::kKnown && !names_.empty()) return KnownCode(label);
  const bool no_text = kind_ == Kind::kRegression && !(written_ && LooksWritten(label));
  if (no_text || kind_ == Kind::kKnown) {
    return Status::DataError(fmt::format("the label {} is not a number", Quoted(label)));
  }
  const auto found = texts_.find(label);
  if (found != texts_.end()) return TextCell(found->second);
  if (NextCode() >= kMaxClasses) {
    if (written_ && kind_ != Kind::kDiscover && LooksWritten(label)) return WrittenLabel(label);
    return Status::DataError(
        fmt::format("more than {} different labels; `label` names another column", kMaxClasses));
  }
  const uint32_t code = NextCode();
  texts_[label] = code;
  return TextCell(code);
}

FormFinder LabelCoder::Finder() const {
  FormFinder finder(decimal_);
  finder.AddPlain(numbers_.size() + (fractions_ ? 1 : 0), fractions_ ? 1 : 0);
  for (const auto& [text, code] : texts_) finder.Add(text, 1);
  return finder;
}

// A label that there is no code for. It is a number if all labels so far are written alike.
Result<float> LabelCoder::WrittenLabel(const std::string& label) {
  if (!form_) {
    FormFinder finder = Finder();
    finder.Add(label, 1);
    MOTLEY_ASSIGN_OR_RETURN(form_, finder.Find(decimal_.value_or(Decimal::kPoint)));
    too_many_ = true;
  }
  if (const auto value = ParseWritten(label, *form_)) return static_cast<float>(*value);
  return Status::DataError(fmt::format("the label {} is not a number with {}, like those above it",
                                       Quoted(label), Describe(*form_)));
}

// The meaning of labels that are written numbers, all of one form; nothing if they are classes.
std::optional<LabelMeaning> LabelCoder::ReadWritten(LabelRule rule, Decimal likely,
                                                    std::vector<float>& index) const {
  const FormFinder finder = Finder();
  const auto form = form_ ? Result<NumberForm>(*form_) : finder.Find(likely);
  if (!form.ok()) return std::nullopt;
  std::map<double, uint32_t> numbers = numbers_;
  for (const auto& [text, code] : texts_) {
    const auto value = ParseWritten(text, *form);
    if (!value) return std::nullopt;
    numbers[*value] = code;
    index[code] = static_cast<float>(*value);
  }
  if (kind_ != Kind::kRegression && !LooksReal(rule, numbers)) return std::nullopt;
  for (const auto& [label, code] : numbers_) index[code] = static_cast<float>(label);
  LabelMeaning meaning{.regression = true, .form = *form};
  meaning.note = "labels are read as numbers: " + Explain(finder.example(), *form, finder.either());
  return meaning;
}

Result<float> LabelCoder::CodeOf(const RawSamples& block, size_t row) {
  if (row < block.label_text.size() && !block.label_text[row].empty()) {
    return CodeOfText(block.label_text[row]);
  }
  if (std::isnan(block.label[row])) return MissingCell();
  return CodeOfNumber(block.label[row]);
}

Result<std::vector<float>> LabelCoder::Code(const RawSamples& block) {
  std::vector<float> codes;
  codes.reserve(block.rows());
  for (size_t row = 0; row < block.rows(); ++row) {
    const Result<float> code = CodeOf(block, row);
    if (!code.ok()) {
      return Status(code.code(), fmt::format("{}: {}", Place(block, row), code.status().message()));
    }
    codes.push_back(*code);
  }
  samples_ += codes.size();
  return codes;
}

// Whole numbers may be quantities, like ages and prices. They are classes if there are few, or if
// they count from 0 or 1 with ten samples each.
bool LabelCoder::LooksReal(LabelRule rule, const std::map<double, uint32_t>& numbers) const {
  constexpr uint64_t kSamplesEach = 10;
  const auto fraction = [](const auto& each) { return each.first != std::floor(each.first); };
  if (rule == LabelRule::kTwoAreClasses && numbers.size() != 2) return true;
  if (fractions_ || too_many_) return true;
  if (std::any_of(numbers.begin(), numbers.end(), fraction)) return true;
  if (rule != LabelRule::kFewAreClasses || numbers.size() <= kFewLabels) return false;
  const double first = numbers.begin()->first;
  const double last = numbers.rbegin()->first;
  const bool counted =
      (first == 0 || first == 1) && last - first + 1 == static_cast<double>(numbers.size());
  return !counted || samples_ < kSamplesEach * numbers.size();
}

// A few texts among labels that would be numbers to predict are nearly always slips. As classes,
// all of these labels would predict nothing.
Status LabelCoder::CheckSlips(const std::string& path, LabelRule rule, Decimal likely) const {
  constexpr double kNearlyAll = 0.95;
  if (rule != LabelRule::kFewAreClasses || NextCode() <= kFewLabels) return Status::Ok();
  const std::string* slip = nullptr;
  size_t numbers = numbers_.size();
  for (const auto& [text, code] : texts_) {
    if (LooksWritten(text)) {
      ++numbers;
    } else if (slip == nullptr) {
      slip = &text;
    }
  }
  const bool nearly_all = static_cast<double>(numbers) >= kNearlyAll * NextCode();
  const bool real = numbers > numbers_.size() || LooksReal(rule, numbers_);
  if (!nearly_all || !real) return Status::Ok();
  const std::string wrong =
      slip != nullptr
          ? fmt::format("{} is not a number, and {} of {} different labels are", Quoted(*slip),
                        numbers, NextCode())
          : fmt::format("they are numbers like {} that do not fit together: {}",
                        Quoted(texts_.begin()->first), Finder().Find(likely).status().message());
  return Status::DataError(
      fmt::format("{}: the labels are no numbers of one kind: {}. Correct them, leave the field "
                  "empty if it is missing, or make each label a class with `task` classify",
                  path, wrong));
}

LabelMeaning LabelCoder::NameClasses(std::vector<float>& index) const {
  LabelMeaning meaning;
  std::map<std::string, std::vector<uint32_t>> codes;
  for (const auto& [text, code] : texts_) codes[text].push_back(code);
  for (const auto& [number, code] : numbers_) codes[LabelText(number)].push_back(code);
  for (const auto& [name, same] : codes) {
    const auto number = static_cast<double>(meaning.names.size());
    for (const uint32_t code : same) index[code] = static_cast<float>(number);
    meaning.names.push_back(name);
    meaning.classes.push_back(number);
  }
  return meaning;
}

Result<LabelMeaning> LabelCoder::Finish(const std::string& path, LabelRule rule,
                                        std::vector<float>& index, Decimal likely) {
  index.clear();
  if (kind_ == Kind::kKnown) return LabelMeaning{.classes = classes_, .names = names_};
  index.resize(NextCode());
  if (written_ && kind_ != Kind::kDiscover && !texts_.empty()) {
    if (auto meaning = ReadWritten(rule, likely, index)) return *std::move(meaning);
  }
  if (kind_ == Kind::kRegression && !texts_.empty()) {
    const auto form = Finder().Find(likely);
    return Status::DataError(fmt::format("{}: the labels are not numbers of one kind, like {}: {}",
                                         path, Quoted(texts_.begin()->first),
                                         form.status().message()));
  }
  LabelMeaning real{.regression = true};
  if (decimal_ == Decimal::kComma) real.form = NumberForm{Decimal::kComma, ""};
  if (kind_ == Kind::kRegression) return real;
  if (kind_ == Kind::kGuess && texts_.empty() && LooksReal(rule, numbers_)) {
    for (const auto& [label, code] : numbers_) index[code] = static_cast<float>(label);
    return real;
  }
  if (kind_ == Kind::kGuess && !texts_.empty() && expected_.classes.empty()) {
    MOTLEY_RETURN_IF_ERROR(CheckSlips(path, rule, likely));
  }
  if (too_many_) {
    return Status::DataError(
        fmt::format("{}: more than {} different labels, some of them text", path, kMaxClasses));
  }
  if (NextCode() == 1 && expected_.classes.empty()) {
    const std::string only =
        texts_.empty() ? LabelText(numbers_.begin()->first) : Quoted(texts_.begin()->first);
    return Status::DataError(
        fmt::format("{}: every label is {}; a classifier needs at least two classes", path, only));
  }
  const bool named = !texts_.empty() || !expected_.names.empty();
  LabelMeaning meaning = named ? NameClasses(index) : NumberClasses(index);
  if (!expected_.classes.empty()) TakeExpected(meaning, index);
  return meaning;
}

LabelMeaning LabelCoder::NumberClasses(std::vector<float>& index) const {
  LabelMeaning meaning;
  for (const auto& [label, code] : numbers_) {
    index[code] = static_cast<float>(meaning.classes.size());
    meaning.classes.push_back(label);
  }
  return meaning;
}

void LabelCoder::TakeExpected(LabelMeaning& meaning, std::vector<float>& index) const {
  const bool named = !meaning.names.empty();
  if (named && expected_.names.empty()) return;
  std::vector<float> number;  // Position of each class among those expected.
  const auto find = [&number](const auto& all, const auto& one) {
    const auto found = std::lower_bound(all.begin(), all.end(), one);
    if (found == all.end() || *found != one) return false;
    number.push_back(static_cast<float>(found - all.begin()));
    return true;
  };
  for (size_t i = 0; i < meaning.classes.size(); ++i) {
    const bool known = named ? find(expected_.names, meaning.names[i])
                             : find(expected_.classes, meaning.classes[i]);
    if (!known) return;
  }
  for (float& each : index) each = number[static_cast<size_t>(each)];
  meaning = expected_;
}

}  // namespace motley
