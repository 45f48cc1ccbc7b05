// SPDX-License-Identifier: Apache-2.0
// Why code "auto" chose a code, without words: ReasonText makes the sentence
// (api/reports/notice_text.h). Times are seconds of a step.
#pragma once

#include <optional>
#include <string>

#include "base/ids.h"

namespace motley {

struct ChoiceReason {
  enum class Kind {
    kPredicted,  // By a prediction.
    kTooShort,   // Steps are too short for copies to gain.
    kDrawn,      // At random, by the simulator's campaign.
  };
  // The worker that most often made its steps slow, and the part of them that it did.
  struct Feared {
    WorkerId worker;
    double often;
    bool operator==(const Feared&) const = default;
  };

  Kind kind = Kind::kPredicted;
  std::string before;                // The name of the code that was left; empty: none was.
  double took = 0;                   // Measured: with `before`, or, if steps are too short, now.
  std::optional<double> predicted;   // None: nothing is known.
  bool copies = false;               // The code has copies. They insure against `feared`.
  std::optional<double> than_plain;  // -0.23: predicted to take 23 % less than without copies.
  std::optional<Feared> feared;      // None: no worker is often slow.
  bool operator==(const ChoiceReason&) const = default;
};

}  // namespace motley
