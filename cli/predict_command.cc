// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_command.h"

#include <memory>

#include "cli/device_call.h"
#include "cli/exit_code.h"
#include "cli/train_data.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"
#include "nlohmann/json.hpp"
#include "training/safetensors.h"

namespace motley {
namespace {

std::string Describe(const PredictFlags& flags, size_t count, const Evaluation& evaluation,
                     bool classifies) {
  // The squared loss is half of the squared error.
  const double squared_error = 2 * evaluation.loss;
  if (flags.json) {
    nlohmann::ordered_json json = {{"count", count}, {"loss", evaluation.loss}};
    if (classifies) {
      json["accuracy"] = evaluation.accuracy;
    } else {
      json["mean_squared_error"] = squared_error;
    }
    return json.dump(2) + "\n";
  }
  if (classifies) {
    return fmt::format("{} samples: accuracy {:.2f} %, loss {:.6g}\n", count,
                       evaluation.accuracy * 100, evaluation.loss);
  }
  return fmt::format("{} samples: mean squared error {:.6g}\n", count, squared_error);
}

Result<int> Run(const PredictFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(const SavedModel saved, LoadModel(flags.model));
  MOTLEY_ASSIGN_OR_RETURN(const Dataset data, ReadForModel(flags.data, flags.label, saved));
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, Model::Create(saved.spec));
  if (model->parameter_count() != saved.parameters.size()) {
    return Status::DataError(fmt::format("{} has {} parameters, a {} of its shape has {}",
                                         flags.model, saved.parameters.size(), saved.spec.name,
                                         model->parameter_count()));
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                          MakeCpuDevice(*loop, CpuDeviceOptions{}));
  Evaluation evaluation;
  MOTLEY_RETURN_IF_ERROR(CallOnDevice(*loop, *device, [&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(evaluation, Evaluate(*model, *device, saved.parameters, data));
    return Status::Ok();
  }));
  return PrintResult(Describe(flags, data.rows(), evaluation, saved.spec.classes > 0));
}

}  // namespace

int RunPredict(const PredictFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
