// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "training/models/evaluate.h"

namespace motley {

// An evaluation as a JSON object, for reports, `motley train --json` and `motley predict --json`.
// `names`, the names of classes in a table, label the rows and columns of the confusion matrix.
// Without names `class_labels` do.
std::string EvaluationJson(const Evaluation& found, const std::vector<double>& class_labels,
                           const std::vector<std::string>& names = {});

// Converts squared losses that are in units of `loss_unit` (TableSchema::loss_unit) to the labels'
// own units. Targets of tables are scaled, so their losses need this.
Evaluation InUnitsOfLabels(Evaluation found, double loss_unit);

}  // namespace motley
