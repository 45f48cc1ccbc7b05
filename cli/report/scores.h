// SPDX-License-Identifier: Apache-2.0
// Formats an evaluation as text for users.
#pragma once

#include <string>

namespace motley {

// Converts the output of EvaluationJson to "accuracy 97.22 %, F1 0.972, log loss 0.0871, AUC 0.998"
// or "R2 0.934, RMSE 3.2, MAE 2.5".
std::string ScoresText(const std::string& evaluation);
// The confusion matrix as a table with a line that says how to read it. Empty: there is none, or it
// has too many classes for a terminal.
std::string ConfusionText(const std::string& evaluation);
// The whole evaluation: "360 samples: accuracy 97.22 %, ..., loss 0.0871", and the matrix.
std::string EvaluationText(const std::string& evaluation);

}  // namespace motley
