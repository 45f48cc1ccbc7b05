// SPDX-License-Identifier: Apache-2.0
// An all-in-one or server job from its data to its report.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/loop/job_control.h"
#include "api/reports/event_stream.h"
#include "api/reports/live_metrics.h"
#include "api/reports/run_recording.h"
#include "api/request/chosen_defaults.h"
#include "api/request/job_plan.h"
#include "api/request/train_data.h"
#include "api/stop_switch.h"
#include "api/workers/emulation.h"
#include "api/workers/local_workers.h"
#include "base/status.h"
#include "training/model_files/initial_model.h"
#include "training/models/evaluate.h"
#include "training/models/model.h"
#include "training/trainers/callback_trainer.h"
#include "transport/inproc_transport.h"
#include "transport/transport.h"

namespace motley {

// The results that a job keeps after its run.
struct TrainingOutcome {
  bool ended = false;  // The server ran, and the other members are valid.
  // The word of motley_job_failure, also if the server did not run; empty for other failures.
  const char* failure = "";
  JobResult job;
  ModelSpec model;  // Unless the job has a trainer.
  std::vector<double> class_labels;
  float input_scale = 1;
  std::string table;   // ToJson(TableSchema); empty: the data were no table.
  std::string report;  // JSON.
};

class TrainingRun {
 public:
  // All references are borrowed. A null `foreign` means a built-in model.
  struct Parts {
    const JobRequest& request;
    JobPlan plan;
    std::shared_ptr<const ForeignTrainer> foreign;
    UvLoop& loop;
    StopSwitch& stop;
    EventStream& events;
    LiveMetrics& metrics;
    std::optional<InitialModel> initial;  // The first parameters; empty: drawn from the seed.
    JobControl& control;
  };
  explicit TrainingRun(Parts parts)
      : parts_(std::move(parts)), plan_(parts_.plan), chosen_(parts_.request) {}

  // Call once. kCancelled after the switch was thrown; otherwise the reason why the job ended.
  Status Run(TrainingOutcome& outcome);

 private:
  Status Listen();
  Status OpenData();
  std::string ModelName(uint32_t classes) const;
  SavedModel About() const;
  Status BeginWith(const InitialModel& initial);
  Status PlanLearning();
  Status WeighClasses();
  Status OpenDevice();
  Status Emulate();
  void Introduce() const;
  void TellDevices() const;
  Result<JobResult> Train(TrainingOutcome& outcome);
  Status FitMemory();
  Status CheckHostMemory() const;
  Status Record();
  void EndRecording();
  JobResult AllDone() const;
  LocalWorkersOptions WorkersOptions(const std::string& address) const;
  Status EvaluateAll(const JobResult& job);
  bool IsSoonEvaluated(const DataSource& samples) const;
  bool Tests() const;
  std::string WhyNotEvaluated(const JobResult& job) const;
  uint64_t ParameterCount() const;
  bool local() const { return parts_.request.role == MOTLEY_ALL_IN_ONE; }
  bool threads() const { return local() && parts_.request.worker_command.empty(); }
  // True if worker processes run on this machine.
  bool spawns() const { return !parts_.request.worker_command.empty(); }
  bool stopped() const { return parts_.stop.thrown() > 0; }

  Parts parts_;
  JobPlan& plan_;
  JobRequest chosen_;  // The request, with defaults chosen for its open options.
  JudgingPlan judging_;
  PreparedData data_;
  std::string table_;                          // ToJson(TableSchema); empty: no table.
  std::shared_ptr<const DataSource> samples_;  // The training samples.
  std::unique_ptr<Model> model_;               // Null with a trainer.
  std::optional<Emulation> emulation_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Device> audit_device_;       // Null: no audits.
  std::unique_ptr<Device> evaluation_device_;  // Null: no evaluation during training.
  std::optional<InprocNetwork> network_;       // For workers that are threads.
  std::unique_ptr<Transport> transport_;       // Null again after training.
  std::string address_;
  std::vector<DeviceGroup> worker_devices_;
  Patience patience_;
  std::unique_ptr<RunRecording> recording_;  // Null: not requested.
  Status recorded_;
  std::optional<Evaluation> train_;
  std::optional<Evaluation> test_;
};

}  // namespace motley
