// SPDX-License-Identifier: Apache-2.0
// What a model asks of its data: classes, real numbers, or either.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "data/readers.h"

namespace motley {

// What the labels of a job are; kGuess: as they look.
enum class LabelTask { kGuess, kClassify, kRegress };
// "classify", "regress"; empty: kGuess. kInvalidArgument.
Result<LabelTask> ParseTask(const std::string& name);

// Opens training data with labels as the model takes them: linear real numbers; a factorisation
// machine two classes where there are just two labels, else real numbers; softmax, logistic and
// hinge classes. Others, and an empty `model`, take what `task` says. Errors as
// OpenTrainingData's; kInvalidArgument: a task that is not the model's. What options say of labels
// is not looked at.
Result<OpenedData> OpenDataFor(const std::string& model, const std::string& spec,
                               ReadOptions options, LabelTask task = LabelTask::kGuess);

// How many classes made-up samples for the model have: `wanted`, unless it takes 2, or none.
uint32_t ClassesFor(const std::string& model, uint32_t wanted);

}  // namespace motley
