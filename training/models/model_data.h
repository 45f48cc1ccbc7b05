// SPDX-License-Identifier: Apache-2.0
// Which labels a model needs: classes, real numbers, or either.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "data/readers.h"

namespace motley {

// The kind of labels of a job; kGuess: decided by their values.
enum class LabelTask { kGuess, kClassify, kRegress };
// Parses "classify" or "regress"; empty means kGuess. kInvalidArgument otherwise.
Result<LabelTask> ParseTask(const std::string& name);

// Opens training data with labels as the model needs them: real numbers for linear; classes for
// softmax, logistic and hinge; for a factorisation machine two classes if there are exactly two
// labels, else real numbers. Other models, and an empty `model`, follow `task`. What `options` say
// about labels is ignored. Errors are those of OpenTrainingData, and kInvalidArgument: `task` does
// not fit the model.
Result<OpenedData> OpenDataFor(const std::string& model, const std::string& spec,
                               ReadOptions options, LabelTask task = LabelTask::kGuess);

// Number of classes of synthetic samples for the model: `wanted`, unless it takes exactly 2, or
// none.
uint32_t ClassesFor(const std::string& model, uint32_t wanted);

}  // namespace motley
