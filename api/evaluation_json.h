// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "training/evaluate.h"

namespace motley {

// What an evaluation found as a JSON object, as reports, `motley train --json` and `motley predict
// --json` have it. `class_labels`: of the rows and columns of the confusion matrix.
std::string EvaluationJson(const Evaluation& found, const std::vector<double>& class_labels);

}  // namespace motley
