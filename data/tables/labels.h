// SPDX-License-Identifier: Apache-2.0
// From labels as they stand in files to class indices or targets, while the files are read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "data/raw_samples.h"

namespace motley {

inline constexpr size_t kMaxClasses = 10'000;

// What the labels of a data set turned out to be.
struct LabelMeaning {
  bool regression = false;
  std::vector<double> classes;     // Ascending; of text labels 0, 1, 2, ...
  std::vector<std::string> names;  // Of text labels, by class, ascending; else empty.
};

// When kGuess takes labels without texts and fractions for classes.
enum class LabelRule {
  kWholeAreClasses,
  kFewAreClasses,  // Not many different ones for so few samples.
  kTwoAreClasses   // Just two different ones.
};

class LabelCoder {
 public:
  enum class Kind {
    kRegression,  // Labels are real numbers.
    kDiscover,    // Classes are the distinct labels that come.
    kGuess,       // Either, as the labels are.
    kKnown        // Classes are given, ascending.
  };
  LabelCoder(Kind kind, std::vector<double> known, std::vector<std::string> names = {})
      : kind_(kind), classes_(std::move(known)), names_(std::move(names)) {}

  // Classes of which the labels may show only some: where all of these are among them, they are the
  // classes. To be called first.
  void Expect(LabelMeaning classes) { expected_ = std::move(classes); }

  // For each label of `block` a number: the label itself, the number of its class, or the mark
  // TextCell(code), which Finish explains. Where `block` has no label it is NaN. kDataError: a
  // label that is not a whole number (kDiscover), more than kMaxClasses, text where there are
  // numbers, a label that is not among those known.
  Result<std::vector<float>> Code(const RawSamples& block);

  // Once all labels were seen: what they mean, and in `index` the number that stands for each code.
  // kDataError naming `path`: only one class.
  Result<LabelMeaning> Finish(const std::string& path, LabelRule rule, std::vector<float>& index);

 private:
  Result<float> CodeOf(const RawSamples& block, size_t row);
  Result<float> CodeOfNumber(double label);
  Result<float> CodeOfText(const std::string& label);
  Result<float> KnownCode(double label) const;
  Result<float> KnownCode(const std::string& label) const;
  uint32_t NextCode() const { return static_cast<uint32_t>(numbers_.size() + texts_.size()); }
  bool LooksReal(LabelRule rule) const;
  LabelMeaning NameClasses(std::vector<float>& index) const;
  LabelMeaning NumberClasses(std::vector<float>& index) const;
  void TakeExpected(LabelMeaning& meaning, std::vector<float>& index) const;

  Kind kind_;
  std::vector<double> classes_;
  std::vector<std::string> names_;
  LabelMeaning expected_;               // Without classes: nothing is expected.
  std::map<double, uint32_t> numbers_;  // Their codes.
  std::map<std::string, uint32_t> texts_;
  bool fractions_ = false;  // Among the labels.
  bool too_many_ = false;
  uint64_t samples_ = 0;
};

}  // namespace motley
