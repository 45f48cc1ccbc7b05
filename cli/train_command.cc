// SPDX-License-Identifier: Apache-2.0
#include "cli/train_command.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "api/device_call.h"
#include "api/emulation.h"
#include "cli/exit_code.h"
#include "cli/local_job.h"
#include "api/observers.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/trace.h"
#include "api/train_data.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"
#include "training/safetensors.h"

namespace motley {
namespace {

uint32_t Cores() { return std::max(1U, std::thread::hardware_concurrency()); }

int NotSaved(const char* what, const Status& why) {
  Warn(fmt::format("the {} was not saved: {}", what, why.ToString()));
  return kExitFailure;
}

// One run of the command; fails with a Status up to the end of training, and returns an exit code
// from then on, when there is a result to show.
class TrainRun {
 public:
  explicit TrainRun(const TrainFlags& flags) : flags_(flags) {}
  Result<int> Run();

 private:
  Status CheckFlags();
  Status CheckOutputs();
  Status OpenData();
  Status OpenDevice();
  Status Emulate();
  void Introduce(Progress& progress) const;
  Result<LocalJobResult> Train();
  Result<std::pair<Evaluation, std::optional<Evaluation>>> EvaluateAll(const JobResult& job);
  Result<int> ReportAndSave(const JobResult& job);

  const TrainFlags& flags_;
  JobPlan plan_;
  PreparedData data_;
  std::unique_ptr<Model> model_;
  std::optional<Emulation> emulation_;
  TraceRecorder trace_;
  std::unique_ptr<UvLoop> loop_;
  std::unique_ptr<Device> device_;
};

Status TrainRun::CheckFlags() {
  MOTLEY_ASSIGN_OR_RETURN(plan_, PlanJob(flags_.job, 0, kMostLocalWorkers));
  const auto slows = [](const Fault& fault) { return fault.kind == Fault::Kind::kSlow; };
  if (plan_.speeds.empty() && std::any_of(plan_.faults.begin(), plan_.faults.end(), slows)) {
    return Status::InvalidArgument(
        "--fault slow: only emulated workers can be slowed. Add --worker-speeds, like 1,1");
  }
  if (plan_.speeds.empty() && plan_.sample_time) {
    return Status::InvalidArgument(
        "--sample-time needs emulated speeds. Add --worker-speeds, like 1,1");
  }
  return CheckOutputs();
}

Status TrainRun::CheckOutputs() {
  const std::string& trace = flags_.job.trace;
  MOTLEY_RETURN_IF_ERROR(CheckApartFromData("--out", flags_.out, flags_.data));
  MOTLEY_RETURN_IF_ERROR(CheckApartFromData("--trace", trace, flags_.data));
  MOTLEY_RETURN_IF_ERROR(CheckApart("--out", flags_.out, "--trace", trace));
  MOTLEY_RETURN_IF_ERROR(CheckReplaced("--out", flags_.out));
  return CheckWritable("--trace", trace);
}

Status TrainRun::OpenData() {
  MOTLEY_ASSIGN_OR_RETURN(data_, PrepareTrainingData(flags_.data, flags_.label, flags_.job.model,
                                                     flags_.split, flags_.job.seed));
  plan_.job.model.features = data_.train.features;
  plan_.job.model.classes = data_.train.classes;
  MOTLEY_ASSIGN_OR_RETURN(model_, Model::Create(plan_.job.model));
  return FitToData(flags_.job, data_.train.rows(), plan_);
}

Status TrainRun::OpenDevice() {
  MOTLEY_ASSIGN_OR_RETURN(loop_, UvLoop::Create());
  MOTLEY_ASSIGN_OR_RETURN(device_, MakeCpuDevice(*loop_, CpuDeviceOptions{}));
  return Status::Ok();
}

Status TrainRun::Emulate() {
  if (plan_.speeds.empty()) return Status::Ok();
  const uint32_t batch = static_cast<uint32_t>(std::min<uint64_t>(plan_.job.batch, plan_.samples));
  const uint32_t part = std::max(1U, batch / plan_.job.workers);
  MOTLEY_ASSIGN_OR_RETURN(const double seconds,
                          MeasureSampleSeconds(*model_, data_.train, part, plan_.job.seed));
  emulation_ = PlanEmulation(seconds, plan_.speeds, batch, Cores(), plan_.sample_time);
  return Status::Ok();
}

void TrainRun::Introduce(Progress& progress) const {
  progress.Say(fmt::format(
      "{}: {} parameters; {} training samples of {} features; {} workers, code "
      "{}; {} steps of {} samples",
      plan_.job.model.name, model_->parameter_count(), plan_.samples, plan_.job.model.features,
      plan_.job.workers, plan_.job.code, plan_.job.steps, plan_.job.batch));
  if (data_.input_scale != 1) {
    progress.Say(fmt::format("features are divided by {:.6g}, their largest magnitude",
                             1 / data_.input_scale));
  }
  if (!emulation_) return;
  progress.Say(DescribeEmulation(*emulation_));
  if (emulation_->overloaded()) {
    Warn(fmt::format(
        "--sample-time {}: real computing needs more than half of the cores, so "
        "contention will be measured, not speed. Use at least {:.3g}ms",
        flags_.job.sample_time,
        ToSeconds(emulation_->sample_time) * 1e3 * 2 * emulation_->cores_used / emulation_->cores));
  }
}

Result<LocalJobResult> TrainRun::Train() {
  ProgressOptions shown;
  shown.style = ChooseProgressStyle(flags_.job.quiet);
  shown.steps = plan_.job.steps;
  shown.steps_per_epoch = static_cast<double>(plan_.steps_per_epoch);
  shown.workers = plan_.job.workers;
  Progress progress(shown);
  ObserverList observers;
  observers.Add(&progress);
  if (!flags_.job.trace.empty()) observers.Add(&trace_);
  const MemorySource samples(data_.train);
  LocalJobOptions options;
  options.listen = flags_.listen;
  options.threads = emulation_ ? 1 : std::max(1U, Cores() / plan_.job.workers);
  if (emulation_) options.sample_time = emulation_->sample_time;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<LocalJob> job,
                          LocalJob::Create(*loop_, *device_, plan_, samples, observers, options));
  Introduce(progress);
  return job->Run();
}

Result<std::pair<Evaluation, std::optional<Evaluation>>> TrainRun::EvaluateAll(
    const JobResult& job) {
  std::pair<Evaluation, std::optional<Evaluation>> result;
  MOTLEY_RETURN_IF_ERROR(CallOnDevice(*loop_, *device_, [&]() -> Status {
    MOTLEY_ASSIGN_OR_RETURN(result.first, Evaluate(*model_, *device_, job.parameters, data_.train));
    if (!data_.test) return Status::Ok();
    MOTLEY_ASSIGN_OR_RETURN(Evaluation test,
                            Evaluate(*model_, *device_, job.parameters, *data_.test));
    result.second = test;
    return Status::Ok();
  }));
  return result;
}

Result<int> TrainRun::ReportAndSave(const JobResult& job) {
  MOTLEY_ASSIGN_OR_RETURN(const auto evaluations, EvaluateAll(job));
  const TrainReport report{plan_, job, evaluations.first, evaluations.second, emulation_};
  int code = PrintResult(flags_.job.json ? TrainJson(report) : TrainTable(report));
  Status saved;
  if (!flags_.out.empty()) {
    saved = SaveModel(flags_.out,
                      {plan_.job.model, data_.class_labels, job.parameters, data_.input_scale});
    if (!saved.ok()) code = NotSaved("model", saved);
  }
  if (!flags_.job.trace.empty()) {
    saved = WriteFile(flags_.job.trace, trace_.Json());
    if (!saved.ok()) code = NotSaved("trace", saved);
  }
  return code;
}

Result<int> TrainRun::Run() {
  MOTLEY_RETURN_IF_ERROR(CheckFlags());
  MOTLEY_RETURN_IF_ERROR(OpenData());
  MOTLEY_RETURN_IF_ERROR(Emulate());
  MOTLEY_RETURN_IF_ERROR(OpenDevice());
  MOTLEY_ASSIGN_OR_RETURN(const LocalJobResult result, Train());
  if (result.signal != 0) {
    Warn(fmt::format("stopped by signal {} after {} of {} steps; nothing was saved", result.signal,
                     result.job.steps, plan_.job.steps));
    return 128 + result.signal;
  }
  MOTLEY_RETURN_IF_ERROR(result.job.status.WithContext(
      fmt::format("training ended after {} of {} steps", result.job.steps, plan_.job.steps)));
  return ReportAndSave(result.job);
}

}  // namespace

int RunTrain(const TrainFlags& flags) {
  TrainRun run(flags);
  const Result<int> code = run.Run();
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
