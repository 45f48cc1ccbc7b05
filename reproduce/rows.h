// SPDX-License-Identifier: Apache-2.0
// Builds the rows of one experiment, so that `pass` is decided in one place.
#pragma once

#include <string>
#include <utility>

#include "reproduce/experiment.h"

namespace motley {

class RowList {
 public:
  explicit RowList(std::string experiment) : experiment_(std::move(experiment)) {}

  // Passes if the figure is within `tolerance` (relative) of the reference.
  void Compare(std::string scheme, std::string setting, Reference reference, double measured,
               double tolerance);
  // Passes if the figure is within `rounding` of a stated range. A statement comes without its
  // settings, so another figure is shown as a difference, and is no failure. Returns true if it
  // passes.
  bool CompareRange(std::string scheme, std::string setting, Reference range, double measured,
                    double rounding);
  // A figure of our own; passes up to `most`.
  void AtMost(std::string scheme, std::string setting, double measured, double most);
  // A gain of our own; passes from `least` on.
  void AtLeast(std::string scheme, std::string setting, double measured, double least);
  // A figure without a bound.
  void Show(std::string scheme, std::string setting, double measured);
  void Note(std::string text) { result_.notes.push_back(std::move(text)); }

  ExperimentResult Take() && { return std::move(result_); }

 private:
  std::string experiment_;
  ExperimentResult result_;
};

}  // namespace motley
