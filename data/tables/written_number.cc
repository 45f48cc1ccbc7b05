// SPDX-License-Identifier: Apache-2.0
#include "data/tables/written_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/suggest.h"
#include "data/files/text_scan.h"

namespace motley {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Blanks that tools write within numbers: a space, U+00A0 and U+202F.
constexpr std::string_view kBlanks[] = {" ", "\xC2\xA0", "\xE2\x80\xAF"};
constexpr std::string_view kMinus = "\xE2\x88\x92";  // U+2212

bool TakeFront(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool TakeBack(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

void SkipBlanks(std::string_view& text) {
  const auto front = [&](std::string_view blank) { return TakeFront(text, blank); };
  const auto back = [&](std::string_view blank) { return TakeBack(text, blank); };
  while (std::any_of(std::begin(kBlanks), std::end(kBlanks), front)) continue;
  while (std::any_of(std::begin(kBlanks), std::end(kBlanks), back)) continue;
}

// Bytes of the currency sign at the start of `text`: $, U+00A2 to U+00A5, or U+20A0 to U+20CF.
size_t CurrencyBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.starts_with('$')) return 1;
  if (text.size() >= 2 && byte(0) == 0xC2 && byte(1) >= 0xA2 && byte(1) <= 0xA5) return 2;
  if (text.size() < 3 || byte(0) != 0xE2) return 0;
  return (byte(1) == 0x82 && byte(2) >= 0xA0) || (byte(1) == 0x83 && byte(2) <= 0x8F) ? 3 : 0;
}

// Takes the sign, as "-" or nothing, off the start of `text`.
bool TakeSign(std::string_view& text, std::string& number) {
  if (TakeFront(text, "-") || TakeFront(text, kMinus)) {
    number = "-";
    return true;
  }
  return TakeFront(text, "+");
}

std::string_view TakeUnit(std::string_view& text) {
  if (const size_t bytes = CurrencyBytes(text); bytes > 0) {
    const std::string_view unit = text.substr(0, bytes);
    text.remove_prefix(bytes);
    return unit;
  }
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    return "%";
  }
  for (const size_t bytes : {size_t{1}, size_t{2}, size_t{3}}) {
    if (text.size() <= bytes) break;
    const std::string_view unit = text.substr(text.size() - bytes);
    if (CurrencyBytes(unit) != bytes) continue;
    text.remove_suffix(bytes);
    return unit;
  }
  return {};
}

// The separator of thousands at the start of `text`, which follows a digit.
std::string_view SeparatorOf(std::string_view text, Decimal decimal) {
  const std::string_view other = decimal == Decimal::kPoint ? "," : ".";
  if (text.starts_with(other) || text.starts_with('\'')) return text.substr(0, 1);
  for (const std::string_view blank : kBlanks) {
    if (text.starts_with(blank)) return blank;
  }
  return {};
}

// Appends the whole part of a number without its separators, and takes it off `text`.
bool TakeWhole(std::string_view& text, Decimal decimal, std::string& number) {
  constexpr size_t kGroup = 3;
  const auto digits = [&] {
    size_t count = 0;
    while (count < text.size() && IsDigit(text[count])) ++count;
    number.append(text.substr(0, count));
    text.remove_prefix(count);
    return count;
  };
  const bool zero = text.starts_with('0');
  const size_t first = digits();
  const std::string_view separator = first > 0 ? SeparatorOf(text, decimal) : std::string_view();
  if (separator.empty()) return true;
  if (zero || first > kGroup) return false;
  while (TakeFront(text, separator)) {
    if (digits() != kGroup) return false;
  }
  return true;
}

struct Written {
  double value = 0;
  std::string_view unit;
};

std::optional<Written> Parse(std::string_view text, Decimal decimal) {
  Written written;
  std::string number;
  bool sign = TakeSign(text, number);
  SkipBlanks(text);
  written.unit = TakeUnit(text);
  SkipBlanks(text);
  sign = sign || TakeSign(text, number);
  if (!TakeWhole(text, decimal, number)) return std::nullopt;
  if (TakeFront(text, decimal == Decimal::kPoint ? "." : ",")) {
    number += '.';
    if (text.empty() || !std::all_of(text.begin(), text.end(), IsDigit)) return std::nullopt;
    number += text;
    text = {};
  }
  if (!text.empty() || number.empty() || !IsDigit(number.back())) return std::nullopt;
  const Result<double> value = ParseNumber(number);
  if (!value.ok()) return std::nullopt;
  written.value = *value;
  return written;
}

}  // namespace

Result<Decimal> ParseDecimal(const std::string& name) {
  MOTLEY_RETURN_IF_ERROR(CheckChoice("`decimal`", name, {"point", "comma"}));
  return name == "comma" ? Decimal::kComma : Decimal::kPoint;
}

const char* NameOf(Decimal decimal) { return decimal == Decimal::kComma ? "comma" : "point"; }

std::optional<double> ParseWritten(std::string_view text, const NumberForm& form) {
  const bool plain = form.unit != "%" && (form.decimal == Decimal::kPoint ||
                                          text.find_first_of(".,") == std::string_view::npos);
  if (plain) {
    const Result<double> number = ParseNumber(text);
    if (number.ok()) return *number;
  }
  const auto written = Parse(text, form.decimal);
  if (!written || (written->unit != form.unit && (!written->unit.empty() || form.unit == "%"))) {
    return std::nullopt;
  }
  return written->value;
}

bool LooksWritten(std::string_view text) {
  return Parse(text, Decimal::kPoint) || Parse(text, Decimal::kComma);
}

void FormFinder::AddPlain(uint64_t cells, uint64_t points) {
  plain_ += cells;
  if (points > 0) comma_ = false;
}

bool FormFinder::Add(std::string_view text, uint64_t cells) {
  const auto point = Parse(text, Decimal::kPoint);
  const auto comma = Parse(text, Decimal::kComma);
  if (!point && !comma) return false;
  point_ = point_ && point;
  comma_ = comma_ && comma;
  const bool differ = point && comma && point->value != comma->value;
  if (example_.empty() || (differ && !differ_)) example_ = text;
  differ_ = differ_ || differ;
  written_ += cells;
  const std::string_view unit = point ? point->unit : comma->unit;
  if (unit.empty()) return true;
  with_unit_ += cells;
  units_differ_ = units_differ_ || (!unit_.empty() && unit_ != unit);
  unit_ = unit;
  return true;
}

std::optional<Decimal> FormFinder::only() const {
  if (point_ == comma_) return std::nullopt;
  return point_ ? Decimal::kPoint : Decimal::kComma;
}

Result<NumberForm> FormFinder::Find(Decimal otherwise) const {
  if (units_differ_) return Status::DataError("its units differ");
  if (unit_ == "%" && with_unit_ < plain_ + written_) {
    return Status::DataError("only some have a '%'");
  }
  if (!point_ && !comma_) {
    return Status::DataError("the decimal mark is a point in some and a comma in others");
  }
  const bool both = point_ && comma_;
  const Decimal decimal =
      both ? (differ_ ? otherwise : Decimal::kPoint) : (point_ ? Decimal::kPoint : Decimal::kComma);
  return NumberForm{decimal, unit_};
}

std::string Explain(const std::string& example, const NumberForm& form, bool either) {
  std::string text =
      fmt::format("{} is {}", Quoted(example), ParseWritten(example, form).value_or(0));
  if (!either) return text;
  const NumberForm other{OtherMark(form.decimal), form.unit};
  return fmt::format("{}, but {} with `decimal` {}", text, ParseWritten(example, other).value_or(0),
                     NameOf(other.decimal));
}

std::string Describe(const NumberForm& form) {
  return fmt::format("a decimal {}{}", NameOf(form.decimal),
                     form.unit.empty() ? "" : fmt::format(" and '{}'", form.unit));
}

}  // namespace motley
