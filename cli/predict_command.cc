// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_command.h"

#include "cli/exit_code.h"
#include "fmt/core.h"
#include "motley/motley.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

std::string Describe(bool as_json, const motley_evaluation& found) {
  const bool classifies = found.classifies != 0;
  // The squared loss is half of the squared error.
  const double squared_error = 2 * found.loss;
  if (as_json) {
    nlohmann::ordered_json json = {{"count", found.count}, {"loss", found.loss}};
    if (classifies) {
      json["accuracy"] = found.accuracy;
    } else {
      json["mean_squared_error"] = squared_error;
    }
    return json.dump(2) + "\n";
  }
  if (classifies) {
    return fmt::format("{} samples: accuracy {:.2f} %, loss {:.6g}\n", found.count,
                       found.accuracy * 100, found.loss);
  }
  return fmt::format("{} samples: mean squared error {:.6g}\n", found.count, squared_error);
}

}  // namespace

int RunPredict(const PredictFlags& flags) {
  motley_evaluation found MOTLEY_EVALUATION_INIT;
  const motley_status status =
      motley_evaluate(flags.model.c_str(), flags.data.c_str(), flags.label.c_str(), &found);
  return status == MOTLEY_OK ? PrintResult(Describe(flags.json, found)) : FailOfLibrary(status);
}

}  // namespace motley
