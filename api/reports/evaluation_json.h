// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "training/models/evaluate.h"

namespace motley {

// What an evaluation found as a JSON object, as reports, `motley train --json` and `motley predict
// --json` have it. The rows and columns of the confusion matrix are named by `class_labels` or,
// where they have some, by the `names` that they have in a table.
std::string EvaluationJson(const Evaluation& found, const std::vector<double>& class_labels,
                           const std::vector<std::string>& names = {});

// The same where a unit of the squared error is so many of the labels' own, as of those of a table
// that were standardised (TableSchema::loss_unit).
Evaluation InUnitsOfLabels(Evaluation found, double loss_unit);

}  // namespace motley
