// SPDX-License-Identifier: Apache-2.0
#include "motley/model.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>

#include "api/device_call.h"
#include "api/entry.h"
#include "api/evaluation_json.h"
#include "api/train_data.h"
#include "api/versioned.h"
#include "devices/cpu/cpu_device.h"
#include "training/evaluate.h"
#include "training/safetensors.h"

namespace motley {
namespace {

// Of this thread; empty: none.
std::string& LastEvaluation() {
  thread_local std::string text;
  return text;
}

Result<motley_evaluation> EvaluateFile(const std::string& path, const std::string& data_path,
                                       const std::string& label) {
  MOTLEY_ASSIGN_OR_RETURN(const SavedModel saved, LoadModel(path));
  MOTLEY_ASSIGN_OR_RETURN(const auto data, ReadForModel(data_path, label, saved));
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, Model::Create(saved.spec));
  if (model->parameter_count() != saved.parameters.size()) {
    return Status::DataError(fmt::format("{} has {} parameters, a {} of its shape has {}", path,
                                         saved.parameters.size(), saved.spec.name,
                                         model->parameter_count()));
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                          MakeCpuDevice(*loop, CpuDeviceOptions{}));
  Evaluation found;
  MOTLEY_RETURN_IF_ERROR(CallOnDevice(*loop, *device, [&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(found, Evaluate(*model, *device, saved.parameters, *data));
    return Status::Ok();
  }));
  motley_evaluation result MOTLEY_EVALUATION_INIT;
  result.classifies = saved.spec.classes > 0 ? 1 : 0;
  result.count = data->shape().rows;
  result.loss = found.loss;
  result.accuracy = found.accuracy.value_or(0);
  result.f1 = found.f1.value_or(NAN);
  result.log_loss = found.log_loss.value_or(NAN);
  result.auc = found.auc.value_or(NAN);
  result.r2 = found.r2.value_or(NAN);
  result.rmse = found.rmse.value_or(NAN);
  result.mae = found.mae.value_or(NAN);
  LastEvaluation() = EvaluationJson(found, saved.class_labels) + "\n";
  return result;
}

}  // namespace
}  // namespace motley

motley_status motley_evaluate(const char* model, const char* data, const char* label,
                              motley_evaluation* evaluation) {
  using motley::CheckNotNull;
  motley::LastEvaluation().clear();
  return motley::Enter([&]() -> motley::Status {
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_evaluate", "model", model));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_evaluate", "data", data));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_evaluate", "evaluation", evaluation));
    MOTLEY_ASSIGN_OR_RETURN(const motley_evaluation result,
                            motley::EvaluateFile(model, data, label != nullptr ? label : ""));
    return motley::WriteVersioned(result, evaluation, "motley_evaluation",
                                  "MOTLEY_EVALUATION_INIT");
  });
}

const char* motley_last_evaluation(void) {
  const std::string& text = motley::LastEvaluation();
  return text.empty() ? nullptr : text.c_str();
}
