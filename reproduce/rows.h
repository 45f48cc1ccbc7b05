// SPDX-License-Identifier: Apache-2.0
// Puts rows of one experiment together, so that `pass` is decided in one place.
#pragma once

#include <string>
#include <utility>

#include "reproduce/experiment.h"

namespace motley {

class RowList {
 public:
  explicit RowList(std::string experiment) : experiment_(std::move(experiment)) {}

  // Passes within `tolerance` (relative) of the reference, above it and below.
  void Compare(std::string scheme, std::string setting, Reference reference, double measured,
               double tolerance);
  // Our own: passes up to `most`.
  void AtMost(std::string scheme, std::string setting, double measured, double most);
  // The same for gains: passes from `least` on.
  void AtLeast(std::string scheme, std::string setting, double measured, double least);
  // Nothing is asked of it.
  void Show(std::string scheme, std::string setting, double measured);
  void Note(std::string text) { result_.notes.push_back(std::move(text)); }

  ExperimentResult Take() && { return std::move(result_); }

 private:
  std::string experiment_;
  ExperimentResult result_;
};

}  // namespace motley
