// SPDX-License-Identifier: Apache-2.0
// From labels as they stand in files to class indices, while the files are read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "training/raw_samples.h"

namespace motley {

inline constexpr size_t kMaxClasses = 10'000;

class LabelCoder {
 public:
  enum class Kind {
    kRegression,  // Labels are real numbers.
    kDiscover,    // Classes are the distinct labels that come, numbered as they come.
    kKnown        // Classes are given, ascending.
  };
  LabelCoder(Kind kind, std::vector<double> known) : kind_(kind), classes_(std::move(known)) {}

  // A number for each label of `block`: itself or the number of its class. kDataError: a label that
  // is not a whole number, more than kMaxClasses (it looks like regression then), or a label that
  // is not among those known.
  Result<std::vector<float>> Code(const RawSamples& block);

  // Once all labels of kDiscover were seen: the classes, ascending, and in `index` the final number
  // of each class by its first one. kDataError naming `path`: only one class.
  Result<std::vector<double>> Finish(const std::string& path, std::vector<float>& index) const;

 private:
  Result<float> CodeOf(double label);

  Kind kind_;
  std::vector<double> classes_;
  std::map<double, float> seen_;
};

}  // namespace motley
