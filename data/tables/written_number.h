// SPDX-License-Identifier: Apache-2.0
// Numbers that are written for readers: "$851,955", "12 %", "3,14". Finds the one form in which the
// numbers of a column are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

enum class Decimal { kPoint, kComma };

// Parses "point" and "comma"; kInvalidArgument otherwise.
Result<Decimal> ParseDecimal(const std::string& name);
const char* NameOf(Decimal decimal);
inline Decimal OtherMark(Decimal decimal) {
  return decimal == Decimal::kPoint ? Decimal::kComma : Decimal::kPoint;
}

// How a column writes its numbers.
struct NumberForm {
  Decimal decimal = Decimal::kPoint;
  std::string unit;  // "%" or a currency sign; empty: none.
  bool operator==(const NumberForm&) const = default;
};

// Parses a number in UTF-8: a sign, a currency sign before or behind it or a "%" behind it, digits
// with or without separators of thousands, and decimals. Separators are all alike (the mark that is
// not the decimal one, an apostrophe or a blank) and have exactly three digits behind each. The
// unit may be absent, unless it is "%". Nothing: the text is not a number of this form.
// Example: "1.137,5 EUR" has a unit in letters, and is none; "1.137,5" is 1137.5 for kComma.
std::optional<double> ParseWritten(std::string_view text, const NumberForm& form);

// True if the text is a number in some form.
bool LooksWritten(std::string_view text);

// Finds the form of a column's numbers. All of them must have the same form, and those that were
// read as plain numbers ("3.5") must fit it.
class FormFinder {
 public:
  // `decimal`: the mark that the user names, if any.
  explicit FormFinder(std::optional<Decimal> decimal)
      : point_(decimal != Decimal::kComma), comma_(decimal != Decimal::kPoint) {}

  // Plain numbers, `points` of which have a decimal point.
  void AddPlain(uint64_t cells, uint64_t points);
  // Adds a text that `cells` cells have. Returns false if it is not a number in any form.
  bool Add(std::string_view text, uint64_t cells);

  uint64_t written() const { return written_; }  // Cells that were added as texts.
  const std::string& example() const { return example_; }
  // True if both marks fit the column and give different numbers, like "1,137".
  bool either() const { return differ_ && point_ && comma_; }
  // The only mark that fits, if just one does.
  std::optional<Decimal> only() const;
  // The form, or kDataError that says why there is none. `otherwise` decides if either mark fits.
  Result<NumberForm> Find(Decimal otherwise) const;

 private:
  bool point_;  // True if all numbers fit a decimal point.
  bool comma_;
  bool differ_ = false;
  uint64_t plain_ = 0;
  uint64_t written_ = 0;
  uint64_t with_unit_ = 0;
  std::string unit_;
  bool units_differ_ = false;
  std::string example_;
};

// A text like "'$1,137' is 1137", for notices. With `either`, it adds the number for the other
// mark.
std::string Explain(const std::string& example, const NumberForm& form, bool either);
// A text like "a decimal comma and '%'".
std::string Describe(const NumberForm& form);

}  // namespace motley
