// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_command.h"

#include "cli/exit_code.h"
#include "cli/scores.h"
#include "motley/motley.h"

namespace motley {
int RunPredict(const PredictFlags& flags) {
  motley_evaluation found MOTLEY_EVALUATION_INIT;
  const motley_status status =
      motley_evaluate(flags.model.c_str(), flags.data.c_str(), flags.label.c_str(), &found);
  if (status != MOTLEY_OK) return FailOfLibrary(status);
  const char* evaluation = motley_last_evaluation();
  return PrintResult(flags.json ? evaluation : EvaluationText(evaluation));
}

}  // namespace motley
