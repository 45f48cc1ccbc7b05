// SPDX-License-Identifier: Apache-2.0
#include "motley/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "api/device_call.h"
#include "api/entry.h"
#include "api/reports/evaluation_json.h"
#include "api/reports/predictions.h"
#include "api/request/train_data.h"
#include "api/versioned.h"
#include "base/counted.h"
#include "base/thread_owned.h"
#include "data/files/byte_stream.h"
#include "devices/cpu/cpu_device.h"
#include "training/model_files/safetensors.h"
#include "training/models/evaluate.h"

namespace motley {
namespace {

// The last evaluation on this thread; empty: none.
std::string& LastEvaluation() {
  struct Evaluation {
    std::string text;
  };
  return ThreadOwned<Evaluation>().text;
}

// An open model, its data and its device.
struct Opened {
  SavedModel saved;
  ModelData data;
  std::unique_ptr<Model> model;
  std::unique_ptr<UvLoop> loop;
  std::unique_ptr<Device> device;
};

// The error about a file that is no model. A text is most likely a table.
Status NoModel(const std::string& path, const Status& status) {
  constexpr size_t kHeadBytes = 512;
  if (status.code() != StatusCode::kDataError) return status;
  auto file = OpenFileStream(path);
  if (!file.ok()) return status;
  StreamReader reader(std::move(file).value());
  const Result<std::string_view> head = reader.Peek(kHeadBytes);
  const bool text = head.ok() && !head->empty() && head->find('\0') == std::string_view::npos;
  if (!text) return status;
  return Status::DataError(path +
                           ": is text, such as a table, and no model. `model` takes a file that "
                           "training wrote (safetensors), and `data` takes the table");
}

Status Open(const std::string& path, const std::string& data_path, const std::string& label,
            Opened& opened) {
  Result<SavedModel> saved_model = LoadModel(path);
  if (!saved_model.ok()) return NoModel(path, saved_model.status());
  opened.saved = std::move(saved_model).value();
  const SavedModel& saved = opened.saved;
  MOTLEY_ASSIGN_OR_RETURN(opened.data, ReadForModel(data_path, label, saved));
  MOTLEY_ASSIGN_OR_RETURN(opened.model, Model::Create(saved.spec));
  if (opened.model->parameter_count() != saved.parameters.size()) {
    return Status::DataError(fmt::format("{} has {}, a {} of its shape has {}", path,
                                         Counted(saved.parameters.size(), "parameter"),
                                         saved.spec.name, opened.model->parameter_count()));
  }
  MOTLEY_ASSIGN_OR_RETURN(opened.loop, UvLoop::Create());
  MOTLEY_ASSIGN_OR_RETURN(opened.device, MakeCpuDevice(*opened.loop, CpuDeviceOptions{}));
  return Status::Ok();
}

Result<bool> AllLabelled(const DataSource& data) {
  constexpr size_t kBlockRows = 1024;
  const uint64_t rows = data.shape().rows;
  for (uint64_t begin = 0; begin < rows; begin += kBlockRows) {
    MOTLEY_ASSIGN_OR_RETURN(const Dataset block,
                            data.Range(begin, std::min<uint64_t>(begin + kBlockRows, rows)));
    for (const float label : block.label) {
      if (std::isnan(label)) return false;
    }
  }
  return true;
}

Result<motley_evaluation> EvaluateOpened(Opened& opened) {
  const SavedModel& saved = opened.saved;
  const DataSource& samples = *opened.data.samples;
  Evaluation found;
  MOTLEY_RETURN_IF_ERROR(CallOnDevice(*opened.loop, *opened.device, [&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(found,
                            Evaluate(*opened.model, *opened.device, saved.parameters, samples));
    return Status::Ok();
  }));
  const TableSchema* table = opened.data.table.get();
  found = InUnitsOfLabels(std::move(found), table != nullptr ? table->loss_unit() : 1);
  motley_evaluation result MOTLEY_EVALUATION_INIT;
  result.classifies = saved.spec.classes > 0 ? 1 : 0;
  result.count = samples.shape().rows;
  result.loss = found.loss;
  result.accuracy = found.accuracy.value_or(0);
  result.f1 = found.f1.value_or(NAN);
  result.log_loss = found.log_loss.value_or(NAN);
  result.auc = found.auc.value_or(NAN);
  result.r2 = found.r2.value_or(NAN);
  result.rmse = found.rmse.value_or(NAN);
  result.mae = found.mae.value_or(NAN);
  LastEvaluation() = EvaluationJson(found, saved.class_labels,
                                    table != nullptr ? table->classes : std::vector<std::string>());
  LastEvaluation() += '\n';
  return result;
}

// Tests the model; the samples of `data_path` must all have labels.
Result<motley_evaluation> Test(Opened& opened, const std::string& data_path) {
  MOTLEY_ASSIGN_OR_RETURN(const bool labelled, AllLabelled(*opened.data.samples));
  if (labelled) return EvaluateOpened(opened);
  return Status::DataError(fmt::format(
      "{}: not all samples have labels to test the model on. motley predict --out FILE writes "
      "predictions without them",
      data_path));
}

Result<motley_evaluation> EvaluateFile(const std::string& path, const std::string& data_path,
                                       const std::string& label) {
  Opened opened;
  MOTLEY_RETURN_IF_ERROR(Open(path, data_path, label, opened));
  return Test(opened, data_path);
}

void Notice(const motley_predict_options& options, const std::string& text) {
  if (options.notice == nullptr) return;
  motley_event event{};
  event.struct_size = sizeof(motley_event);
  event.kind = MOTLEY_EVENT_NOTICE;
  event.text = text.c_str();
  options.notice(options.context, &event);
}

Status PredictFile(const motley_predict_options& options, motley_evaluation* evaluation,
                   uint64_t* rows) {
  if (options.probabilities > 1) {
    return Status::InvalidArgument("`probabilities` is neither 0 nor 1");
  }
  Opened opened;
  MOTLEY_RETURN_IF_ERROR(
      Open(options.model, options.data, options.label != nullptr ? options.label : "", opened));
  MOTLEY_RETURN_IF_ERROR(CheckProbabilities(*opened.model, options.probabilities != 0));
  for (const std::string& note : opened.data.notes) Notice(options, note);
  if (options.out == nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(const motley_evaluation result, Test(opened, options.data));
    if (rows != nullptr) *rows = result.count;
    if (evaluation == nullptr) return Status::Ok();
    return WriteVersioned(result, evaluation, "motley_evaluation", "MOTLEY_EVALUATION_INIT");
  }
  PredictionCount count;
  MOTLEY_RETURN_IF_ERROR(CallOnDevice(*opened.loop, *opened.device, [&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(
        count, WritePredictions({options.out, options.probabilities != 0}, *opened.model,
                                opened.saved, opened.data, *opened.device));
    return Status::Ok();
  }));
  if (rows != nullptr) *rows = count.rows;
  if (evaluation == nullptr) return Status::Ok();
  motley_evaluation result MOTLEY_EVALUATION_INIT;
  if (count.labelled == count.rows) {
    MOTLEY_ASSIGN_OR_RETURN(result, EvaluateOpened(opened));
  }
  result.classifies = opened.saved.spec.classes > 0 ? 1 : 0;
  return WriteVersioned(result, evaluation, "motley_evaluation", "MOTLEY_EVALUATION_INIT");
}

}  // namespace
}  // namespace motley

motley_status motley_predict(const motley_predict_options* options, motley_evaluation* evaluation,
                             uint64_t* count) {
  using motley::CheckNotNull;
  return motley::Enter([&]() -> motley::Status {
    motley::LastEvaluation().clear();
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_predict", "options", options));
    MOTLEY_ASSIGN_OR_RETURN(
        const motley_predict_options given,
        motley::ReadVersioned(options, motley_predict_options MOTLEY_PREDICT_OPTIONS_INIT,
                              "motley_predict_options", "MOTLEY_PREDICT_OPTIONS_INIT"));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_predict", "options->model", given.model));
    MOTLEY_RETURN_IF_ERROR(CheckNotNull("motley_predict", "options->data", given.data));
    return motley::PredictFile(given, evaluation, count);
  });
}

motley_status motley_evaluate(const char* model, const char* data, const char* label,
                              motley_evaluation* evaluation) {
  using motley::CheckNotNull;
  return motley::Enter([&]() -> motley::Status {
    motley::LastEvaluation().clear();
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
  try {
    const std::string& text = motley::LastEvaluation();
    return text.empty() ? nullptr : text.c_str();
  } catch (const std::bad_alloc&) {
    return nullptr;  // This thread had no text yet, and there is no memory for one.
  }
}
