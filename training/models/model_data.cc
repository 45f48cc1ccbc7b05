// SPDX-License-Identifier: Apache-2.0
#include "training/models/model_data.h"

#include <fmt/format.h>

#include "base/suggest.h"
#include "training/models/architecture.h"

namespace motley {

Result<LabelTask> ParseTask(const std::string& name) {
  if (name.empty()) return LabelTask::kGuess;
  MOTLEY_RETURN_IF_ERROR(CheckChoice("`task`", name, {"classify", "regress"}));
  return name == "classify" ? LabelTask::kClassify : LabelTask::kRegress;
}

Result<OpenedData> OpenDataFor(const std::string& model, const std::string& spec,
                               ReadOptions options, LabelTask task) {
  const std::string_view word = WordOf(model);
  const bool classes = word == "softmax" || word == "logistic" || word == "hinge";
  if ((classes && task == LabelTask::kRegress) ||
      (word == "linear" && task == LabelTask::kClassify)) {
    return Status::InvalidArgument(
        fmt::format("`task` {}: `model` {} {}. Leave `model` out to use one that fits",
                    classes ? "regress" : "classify", model,
                    classes ? "chooses among classes" : "gives real numbers"));
  }
  options.regression = word == "linear" || task == LabelTask::kRegress;
  options.guess = !classes && task == LabelTask::kGuess && !options.regression;
  options.two_classes = options.guess && word == "factorization";
  return OpenTrainingData(spec, options);
}

uint32_t ClassesFor(const std::string& model, uint32_t wanted) {
  const std::string_view word = WordOf(model);
  if (word == "linear" || word == "factorization") return 0;
  return word == "logistic" || word == "hinge" ? 2 : wanted;
}

}  // namespace motley
