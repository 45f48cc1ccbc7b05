// SPDX-License-Identifier: Apache-2.0
// Turns labels of files into class indices or targets while the files are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "data/raw_samples.h"
#include "data/tables/written_number.h"

namespace motley {

inline constexpr size_t kMaxClasses = 10'000;

// The meaning of the labels of a data set.
struct LabelMeaning {
  bool regression = false;
  std::vector<double> classes;     // Ascending; 0, 1, 2, ... for text labels.
  std::vector<std::string> names;  // Text labels by class, ascending; else empty.
  std::optional<NumberForm> form;  // Real numbers that are not written as plain numbers.
  std::string note;                // How they are read, for the user; empty: nothing to say.
};

// The condition under which kGuess makes numeric labels classes. Numbers with fractions never
// become classes; texts always do.
enum class LabelRule {
  kWholeAreClasses,
  kFewAreClasses,  // Few distinct labels for the number of samples.
  kTwoAreClasses   // Exactly two distinct labels.
};

class LabelCoder {
 public:
  enum class Kind {
    kRegression,  // Labels are real numbers.
    kDiscover,    // Classes are the distinct labels.
    kGuess,       // Classes or real numbers, depending on the labels.
    kKnown        // Classes are given, ascending.
  };
  LabelCoder(Kind kind, std::vector<double> known, std::vector<std::string> names = {})
      : kind_(kind), classes_(std::move(known)), names_(std::move(names)) {}

  // Expects these classes: if they include all labels that occur, they are the classes, even if
  // some do not occur. Call this first.
  void Expect(LabelMeaning classes) { expected_ = std::move(classes); }
  // Texts that are written numbers ("$1,137") may become numbers to predict, with the decimal mark
  // `decimal` if the user names one. Call this first.
  void TakeWritten(std::optional<Decimal> decimal) {
    written_ = true;
    decimal_ = decimal;
  }

  // Codes the labels of `block`: each becomes the label itself, the number of its class, or
  // TextCell(code), which Finish resolves. A missing label becomes NaN. kDataError: a label that is
  // not a whole number (kDiscover), more than kMaxClasses, a text among numbers, or a label that is
  // not a known class.
  Result<std::vector<float>> Code(const RawSamples& block);

  // Call this after all labels were coded. Returns their meaning, and sets index[code] to the
  // number of each code. Written numbers (see TakeWritten) become numbers to predict
  // wherever plain numbers would; `likely` decides if either decimal mark fits them. kDataError,
  // naming `path`: there is only one class, or a few texts stand among numbers to predict.
  Result<LabelMeaning> Finish(const std::string& path, LabelRule rule, std::vector<float>& index,
                              Decimal likely = Decimal::kPoint);

 private:
  Result<float> CodeOf(const RawSamples& block, size_t row);
  Result<float> CodeOfNumber(double label);
  Result<float> CodeOfText(const std::string& label);
  Result<float> KnownCode(double label) const;
  Result<float> KnownCode(const std::string& label) const;
  uint32_t NextCode() const { return static_cast<uint32_t>(numbers_.size() + texts_.size()); }
  FormFinder Finder() const;
  Result<float> WrittenLabel(const std::string& label);
  std::optional<LabelMeaning> ReadWritten(LabelRule rule, Decimal likely,
                                          std::vector<float>& index) const;
  bool LooksReal(LabelRule rule, const std::map<double, uint32_t>& numbers) const;
  Status CheckSlips(const std::string& path, LabelRule rule, Decimal likely) const;
  LabelMeaning NameClasses(std::vector<float>& index) const;
  LabelMeaning NumberClasses(std::vector<float>& index) const;
  void TakeExpected(LabelMeaning& meaning, std::vector<float>& index) const;

  Kind kind_;
  std::vector<double> classes_;
  std::vector<std::string> names_;
  LabelMeaning expected_;               // No classes: nothing is expected.
  std::map<double, uint32_t> numbers_;  // Codes of numeric labels.
  std::map<std::string, uint32_t> texts_;
  bool written_ = false;
  std::optional<Decimal> decimal_;
  std::optional<NumberForm> form_;  // Decided before the end, when codes run out.
  bool fractions_ = false;          // Some plain number has a fraction.
  bool too_many_ = false;
  uint64_t samples_ = 0;
};

}  // namespace motley
