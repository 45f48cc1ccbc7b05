// SPDX-License-Identifier: Apache-2.0
#include "api/job/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/device_call.h"
#include "api/fresh_ids.h"
#include "api/job/server_run.h"
#include "api/reports/job_report.h"
#include "api/request/resume.h"
#include "api/workers/worker_environment.h"
#include "base/counted.h"
#include "base/host.h"
#include "data/files/file_io.h"
#include "data/files/text_scan.h"
#include "devices/cpu/cpu_device.h"
#include "runtime/memory_need.h"
#include "transport/channel/stream_transport.h"
#include "transport/stream/tcp_address.h"

namespace motley {
namespace {

constexpr char kHere[] = "here";  // The server's address inside one process.

// Of an evaluation that nobody asked for, in multiplications: about a tenth of a second on one
// core.
constexpr double kUnnoticedCost = 1e9;
constexpr double kCostOfEntry = 8;  // To read and gather a value of a sample.
// Parameters (64 MiB) from which on users should know how much memory a job needs.
constexpr uint64_t kLargeModel = uint64_t{1} << 24;

// A server apart need not have the samples that its workers' trainers bring: it forms no sums.
std::shared_ptr<const ForeignTrainer> ForServer(
    const JobRequest& request, const std::shared_ptr<const ForeignTrainer>& given) {
  if (given == nullptr || request.role == MOTLEY_ALL_IN_ONE || !request.data.empty()) return given;
  auto without = std::make_shared<ForeignTrainer>(*given);
  without->accumulate = nullptr;
  return without;
}

// "2 workers"; of a server "1 to 8 workers".
std::string WorkerWords(const JobOptions& job) {
  const std::string most = Counted(job.workers, "worker");
  const bool fixed = !job.gather_time || job.least_workers == job.workers;
  return fixed ? most : fmt::format("{} to {}", job.least_workers, most);
}

// A server that listens at all addresses is reached at loopback from here.
std::string FromThisMachine(const std::string& address) {
  return ReplaceAnyHost(address, [](bool ipv6) { return ipv6 ? "[::1]" : "127.0.0.1"; });
}

// "feature 'income'", or "feature 3 (from 0)" where the data have no names.
std::string FeatureName(const std::vector<std::string>& names, uint32_t feature) {
  if (feature < names.size()) return fmt::format("feature {}", Quoted(names[feature]));
  return fmt::format("feature {} (from 0)", feature);
}

}  // namespace

// Before the data are read, which may take long: workers that are started at the same time connect,
// and wait for an answer.
Status TrainingRun::Listen() {
  const JobRequest& request = parts_.request;
  MOTLEY_ASSIGN_OR_RETURN(device_, MakeCpuDevice(parts_.loop, CpuDeviceOptions{}));
  plan_.job.token = request.token.empty() ? FreshToken() : request.token;
  if (threads()) {
    network_.emplace(parts_.loop);
    transport_ = network_->MakeTransport();
    MOTLEY_ASSIGN_OR_RETURN(address_, transport_->Listen(kHere));
    return Status::Ok();
  }
  transport_ = MakeStreamTransport(parts_.loop.handle(), &device_->parallel());
  const std::string& file = request.address_file;
  const std::string listen =
      file.empty() ? request.listen : AddressToListenAt(file, request.listen);
  MOTLEY_ASSIGN_OR_RETURN(address_, transport_->Listen(listen));
  if (!file.empty()) {
    RememberAddress(file, request.listen, address_);
    const Status written = WritePrivateFile(file, address_ + "\n");
    if (!written.ok()) return written.WithContext("the environment variable MOTLEY_ADDRESS_FILE");
  }
  const bool tell_token = !local() && request.token.empty();
  parts_.events.Tell(MOTLEY_EVENT_LISTENING,
                     tell_token ? address_ + " " + plan_.job.token : address_);
  return Status::Ok();
}

Status TrainingRun::OpenDevice() {
  MOTLEY_ASSIGN_OR_RETURN(patience_, PatienceFromEnvironment());
  const JobRequest& request = parts_.request;
  // Emulated speeds are the processor's, and a trainer of the caller's computes on it.
  const bool free = request.role == MOTLEY_ALL_IN_ONE && plan_.speeds.empty() && !parts_.foreign;
  if (request.devices.empty() && free) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<ListedDevice> defaults, DefaultDevices());
    worker_devices_ = DevicesOfWorkers(EachAlone(defaults), /*named=*/false, plan_.job.workers);
    return Status::Ok();
  }
  if (request.devices.empty() && !local() && !parts_.foreign) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<ListedDevice> defaults, DefaultDevices());
    worker_devices_ = {DevicesOfOne(defaults)};
    return Status::Ok();
  }
  const auto chosen = ChooseDevices(request.devices);
  if (!chosen.ok()) return chosen.status().WithContext("`devices`");
  if (parts_.foreign != nullptr) {
    MOTLEY_RETURN_IF_ERROR(CheckNotJoined(*chosen).WithContext("`devices`"));
  }
  if (local() || spawns()) {
    MOTLEY_RETURN_IF_ERROR(
        CheckAllUsed(*chosen, plan_.job.workers).WithContext("`devices` " + request.devices));
  }
  // One that others serve with has a worker for each, and no more.
  const auto workers = local() ? plan_.job.workers : static_cast<uint32_t>(chosen->size());
  worker_devices_ = DevicesOfWorkers(*chosen, /*named=*/true, workers);
  // A driver's name stands for all of its devices, so only now it is known how many workers are the
  // server's own: it needs one more (docs/decisions/0041).
  if (!local() && spawns() && request.min_workers == 0) {
    plan_.job.least_workers = std::min(workers + 1, plan_.job.workers);
  }
  return Status::Ok();
}

// What was found without being asked for is said.
void TrainingRun::TellDevices() const {
  if (!parts_.request.devices.empty() || !local()) return;
  std::string found;
  for (const DeviceGroup& group : worker_devices_) {
    if (group.is_processor()) continue;
    found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", group.Label(), group.Names());
  }
  if (found.empty()) return;
  parts_.events.Tell(
      MOTLEY_EVENT_NOTICE,
      fmt::format(
          "workers compute on {}, and the others on the processor; `devices` says otherwise",
          found));
}

Status TrainingRun::Emulate() {
  if (plan_.speeds.empty()) return Status::Ok();
  const auto batch = static_cast<uint32_t>(std::min<uint64_t>(plan_.job.batch, plan_.samples));
  double seconds = 0;  // What a trainer's samples take cannot be told before.
  if (model_ != nullptr) {
    const uint32_t part = std::max(1U, batch / plan_.job.workers);
    MOTLEY_ASSIGN_OR_RETURN(seconds,
                            MeasureSampleSeconds(*model_, *samples_, part, plan_.job.seed));
  }
  emulation_ = PlanEmulation(seconds, plan_.speeds, batch, Cores(), plan_.sample_time);
  return Status::Ok();
}

uint64_t TrainingRun::ParameterCount() const {
  return model_ ? model_->parameter_count() : parts_.foreign->parameter_count;
}

void TrainingRun::Introduce() const {
  EventStream& events = parts_.events;
  events.Tell(
      MOTLEY_EVENT_NOTICE,
      fmt::format("{}: {}; {} of {}; {}, code "
                  "{}; {} of {}",
                  model_ ? plan_.job.model.name : "trainer", Counted(ParameterCount(), "parameter"),
                  Counted(plan_.samples, "training sample"),
                  Counted(plan_.job.model.features, "feature"), WorkerWords(plan_.job),
                  plan_.job.code, Counted(plan_.job.steps, "step"),
                  Counted(plan_.job.batch / plan_.job.turns, "sample")));
  JobRequest learning = chosen_;
  const bool own = parts_.foreign != nullptr && parts_.foreign->apply;
  if (own) learning.optimizer.name = "its own rule";
  events.Tell(MOTLEY_EVENT_NOTICE,
              DescribeLearning(learning, judging_,
                               data_.validation != nullptr ? data_.validation->shape().rows : 0));
  if (const CheckpointOptions& saves = plan_.job.checkpoint; saves.every > 0) {
    events.Tell(MOTLEY_EVENT_NOTICE,
                fmt::format("saves a checkpoint ({}) every {} in {}", ToText(saves.code),
                            Counted(saves.every, "step"), parts_.request.checkpoint));
  }
  if (const std::vector<float>& weights = plan_.job.model.class_weights; !weights.empty()) {
    events.Tell(MOTLEY_EVENT_NOTICE,
                DescribeClassWeights(weights, ClassNames(data_.class_labels, data_.table.get())));
  }
  if (ParameterCount() >= kLargeModel) {
    events.Tell(MOTLEY_EVENT_NOTICE, DescribeMemory(plan_.job, ParameterCount()));
  }
  for (const std::string& note : data_.notes) events.Tell(MOTLEY_EVENT_NOTICE, note);
  if (data_.input_scale != 1) {
    events.Tell(MOTLEY_EVENT_NOTICE,
                fmt::format("features are divided by {:.6g}, their largest magnitude",
                            1 / data_.input_scale));
  }
  const Magnitudes& sizes = data_.magnitudes;
  if (data_.input_scale != 1 && sizes.drowned > 0) {
    const std::string which =
        sizes.drowned == 1
            ? fmt::format("{} stays", FeatureName(data_.names, sizes.first_drowned))
            : fmt::format("{} of {} features, the first of them {}, stay", sizes.drowned,
                          sizes.used, FeatureName(data_.names, sizes.first_drowned));
    events.Tell(
        MOTLEY_EVENT_WARNING,
        fmt::format("{} reaches {:.3g}, and {} below 1/{:.0f} of that: divided by it, {} "
                    "hardly count. Bring the columns of `data` to like sizes first, or use `scale` "
                    "standard where samples are dense",
                    FeatureName(data_.names, sizes.feature), sizes.largest, which, kDrowns,
                    sizes.drowned == 1 ? "its values" : "they"));
  }
  if (!emulation_) return;
  events.Tell(MOTLEY_EVENT_NOTICE, DescribeEmulation(*emulation_));
  if (emulation_->overloaded()) {
    events.Tell(MOTLEY_EVENT_WARNING,
                fmt::format("`sample_time` {}: real computing needs more than half of the cores, "
                            "so contention will be measured, not speed. Use at least {:.3g}ms",
                            parts_.request.sample_time,
                            ToSeconds(emulation_->sample_time) * 1e3 * 2 * emulation_->cores_used /
                                emulation_->cores));
  }
}

LocalWorkersOptions TrainingRun::WorkersOptions(const std::string& address) const {
  LocalWorkersOptions options;
  options.server = address;
  options.token = plan_.job.token;
  options.workers = static_cast<uint32_t>(worker_devices_.size());
  if (!local()) options.name = HostName();
  options.threads = parts_.request.threads;
  if (options.threads == 0) {
    options.threads = emulation_ ? 1 : std::max(1U, Cores() / options.workers);
  }
  options.devices = worker_devices_;
  options.patience = patience_;
  options.speeds = plan_.speeds;
  if (emulation_) options.sample_time = emulation_->sample_time;
  // What the server holds is taken already; the workers share half of what is left.
  const uint64_t left = AvailableMemoryBytes() / 2 / options.workers;
  if (parts_.request.memory_bytes != 0) {
    options.memory_bytes = parts_.request.memory_bytes;
  } else if (left != 0) {
    options.memory_bytes = left;
  }
  return options;
}

Result<JobResult> TrainingRun::Train(TrainingOutcome& outcome) {
  const JobRequest& request = parts_.request;
  UvLoop& loop = parts_.loop;
  plan_.job.job_id = FreshJobId();
  plan_.job.foreign = ForServer(request, parts_.foreign);
  plan_.job.newest = parts_.control.newest();
  plan_.job.meaning = {
      data_.class_labels, data_.input_scale, request.split, plan_.job.meaning.storage, table_,
      judging_.validation};
  CheckpointOptions& checkpoint = plan_.job.checkpoint;
  checkpoint.run = plan_.job.resume != nullptr ? plan_.job.resume->run : FreshIncarnation();
  std::unique_ptr<CheckpointFolder> folder;
  if (checkpoint.every > 0) {
    MOTLEY_ASSIGN_OR_RETURN(
        folder, CheckpointFolder::Open(loop, request.checkpoint, plan_.job.resume.get()));
  }
  MOTLEY_RETURN_IF_ERROR(FitMemory());
  MOTLEY_RETURN_IF_ERROR(Record());
  ObserverFan observers;
  observers.Tell(
      {recording_ != nullptr ? &recording_->observer() : nullptr, &parts_.metrics, &parts_.events});
  if (plan_.job.audit_fraction > 0) {
    plan_.job.audit_secret = FreshIncarnation();
    MOTLEY_ASSIGN_OR_RETURN(audit_device_, MakeCpuDevice(loop, {.threads = 1, .background = true}));
  }
  if (plan_.job.validation.evaluates()) {
    MOTLEY_ASSIGN_OR_RETURN(evaluation_device_, MakeCpuDevice(loop, {.threads = 1}));
  }
  const Env env{loop,
                *transport_,
                *device_,
                folder != nullptr ? folder->disk() : nullptr,
                audit_device_.get(),
                evaluation_device_.get()};
  const auto tell = [this](const std::string& text) {
    parts_.events.Tell(MOTLEY_EVENT_NOTICE, text);
  };
  ServerRun server(loop, plan_.faults, observers, tell, {parts_.stop, parts_.control});
  MOTLEY_RETURN_IF_ERROR(server.Open(env, plan_.job, *samples_, address_));
  if (plan_.job.resume != nullptr && plan_.job.resume->step == plan_.job.steps) return AllDone();
  plan_.job.resume = nullptr;  // The server has it; it is as large as the model.
  plan_.job.first_parameters = nullptr;
  parts_.initial.reset();
  parts_.metrics.Expect(plan_.job.steps, plan_.steps_per_epoch, plan_.job.workers,
                        plan_.job.validation.patience > 0);
  Introduce();
  TellDevices();
  ServerRun::StartWorkers start;
  if (threads()) {
    start = [&](const std::string& address, LocalWorkers::Exited exited) {
      return StartWorkerThreads(loop, *network_, parts_.foreign, WorkersOptions(address),
                                std::move(exited));
    };
  } else if (spawns()) {
    start = [&](const std::string& address, LocalWorkers::Exited exited) {
      return StartWorkerProcesses(loop, request.worker_command,
                                  WorkersOptions(FromThisMachine(address)), std::move(exited));
    };
  }
  Result<JobResult> result = server.Run(start, /*others_come=*/!local());
  if (server.diverged()) outcome.failure = "diverged";
  return result;
}

// Audits that nobody asked for need not fit. Those that a request names must.
Status TrainingRun::FitMemory() {
  Status fits = CheckHostMemory();
  JobOptions& job = plan_.job;
  if (fits.ok() || job.audit_fraction == 0 || job.audit_time == 0) return fits;
  const double drawn = std::exchange(job.audit_fraction, 0);
  if (CheckHostMemory().ok()) {
    parts_.events.Tell(MOTLEY_EVENT_NOTICE,
                       "no step is audited, because there is no memory for it: " + fits.ToString());
    return Status::Ok();
  }
  job.audit_fraction = drawn;
  return fits;
}

Status TrainingRun::CheckHostMemory() const {
  if (!local()) {
    return CheckMemory("the server", ParameterCount(), ServerVectors(plan_.job),
                       device_->info().memory_bytes);
  }
  // Threads share this process and its own limits, processes only the machine.
  const uint64_t memory = threads() ? HostMemoryBytes() : SharedMemoryBytes();
  return CheckTogether(plan_.job, ParameterCount(), worker_devices_, memory);
}

// Opens what the run is recorded in.
Status TrainingRun::Record() {
  const std::string& path = parts_.request.record_profile;
  if (path.empty()) return Status::Ok();
  ClusterProfile about;
  about.name = "recorded";
  about.model = model_ ? plan_.job.model.name : "";
  about.gradient_bytes = ParameterCount() * sizeof(float);
  plan_.job.measure_links = true;
  MOTLEY_ASSIGN_OR_RETURN(recording_, RunRecording::Open(path, std::move(about)));
  return Status::Ok();
}

// A run that was not recorded is a run all the same.
void TrainingRun::EndRecording() {
  if (recording_ == nullptr) return;
  recorded_ = recording_->Finish();
  const std::string& path = parts_.request.record_profile;
  parts_.events.Tell(
      recorded_.ok() ? MOTLEY_EVENT_NOTICE : MOTLEY_EVENT_WARNING,
      recorded_.ok()
          ? fmt::format("the cluster is recorded in {}, its steps in {}", path, TracePathFor(path))
          : fmt::format("the run is not recorded: {}", recorded_.ToString()));
}

// The checkpoint is of the job's end: what it came to then, without workers.
JobResult TrainingRun::AllDone() const {
  const SavedJob& saved = *plan_.job.resume;
  parts_.events.Tell(
      MOTLEY_EVENT_NOTICE,
      fmt::format("the checkpoint has all steps of the job ({}): nothing is left to train. More "
                  "`steps` would train on",
                  saved.step));
  JobResult result = ResultOf(saved);
  if (parts_.request.checkpoint == parts_.request.resume) result.checkpoint_step = saved.step;
  return result;
}

// What nobody asked for must not be noticed.
bool TrainingRun::IsSoonEvaluated(const DataSource& samples) const {
  const DataShape shape = samples.shape();
  const auto rows = static_cast<double>(shape.rows);
  const auto dense = static_cast<double>(shape.features);
  const double entries =
      shape.sparse && shape.entries > 0 ? static_cast<double>(shape.entries) / rows : dense;
  const double per_sample = model_->multiply_adds(entries) + kCostOfEntry * entries;
  return rows * per_sample <= kUnnoticedCost;
}

// Workers have computed the loss of every training sample in the last epoch. To compute it again
// here takes a third of an epoch on one machine.
Status TrainingRun::EvaluateAll(const JobResult& job) {
  const int throws = job.status.ok() ? 0 : parts_.stop.thrown();
  const Unwanted unwanted = [this, throws] { return parts_.stop.thrown() > throws; };
  return CallOnDevice(parts_.loop, *device_, [&]() -> Status {
    if (job.status.ok() && (parts_.request.evaluate_training || IsSoonEvaluated(*samples_))) {
      MOTLEY_ASSIGN_OR_RETURN(train_,
                              Evaluate(*model_, *device_, *job.parameters, *samples_, unwanted));
    }
    if (data_.test == nullptr || data_.test->shape().rows == 0) return Status::Ok();
    MOTLEY_ASSIGN_OR_RETURN(test_,
                            Evaluate(*model_, *device_, *job.parameters, *data_.test, unwanted));
    return Status::Ok();
  });
}

bool TrainingRun::Tests() const {
  return model_ != nullptr && data_.test != nullptr && data_.test->shape().rows > 0;
}

// Why the trained model is not evaluated; empty: it is. Who stops a job does not want to wait.
std::string TrainingRun::WhyNotEvaluated(const JobResult& job) const {
  if (job.parameters->empty()) return "its parameters are lost with the nodes that held them";
  if (job.status.ok()) return stopped() ? "the job was stopped at its end" : "";
  if (job.status.code() != StatusCode::kCancelled) return "the job ended by an error";
  if (job.steps == 0) return "no step was done";
  if (!Tests() || IsSoonEvaluated(*data_.test)) return "";
  return fmt::format("the job was stopped, and {} take more than a moment",
                     Counted(data_.test->shape().rows, "test sample"));
}

Status TrainingRun::Run(TrainingOutcome& outcome) {
  const Status early = Status::Cancelled("stopped before training began");
  MOTLEY_RETURN_IF_ERROR(Listen());
  const Status opened = OpenData();
  if (stopped()) return early;
  const StatusCode code = opened.code();
  if (code == StatusCode::kDataError || code == StatusCode::kNotFound) outcome.failure = "data";
  MOTLEY_RETURN_IF_ERROR(opened);
  MOTLEY_RETURN_IF_ERROR(Emulate());
  MOTLEY_RETURN_IF_ERROR(OpenDevice());
  if (stopped()) return early;
  Result<JobResult> trained = Train(outcome);
  transport_ = nullptr;
  MOTLEY_ASSIGN_OR_RETURN(outcome.job, std::move(trained));
  const JobResult& job = outcome.job;
  EndRecording();
  parts_.metrics.Finish(job);
  outcome.ended = true;
  if (model_) outcome.model = plan_.job.model;
  outcome.class_labels = data_.class_labels;
  outcome.input_scale = data_.input_scale;
  outcome.table = table_;
  std::string not_tested = WhyNotEvaluated(job);
  const bool wanted = model_ != nullptr && not_tested.empty();
  const Status evaluated = wanted ? EvaluateAll(job) : Status::Ok();
  if (!evaluated.ok()) not_tested = evaluated.ToString();
  if (!Tests() || test_) not_tested.clear();
  if (!model_) plan_.job.model.name = "trainer";
  outcome.report =
      TrainJson({plan_, job, train_, test_, not_tested, emulation_, parts_.request.record_profile,
                 recorded_, data_.loss_unit(), ClassNames(data_.class_labels, data_.table.get()),
                 parts_.events.reduction()});
  // The model is trained, whatever became of the figures about it.
  if (!evaluated.ok() && evaluated.code() != StatusCode::kCancelled) {
    parts_.events.Tell(MOTLEY_EVENT_WARNING,
                       fmt::format("the trained model could not be evaluated, so the report has no "
                                   "final loss: {}",
                                   evaluated.ToString()));
  }
  if (job.status.code() == StatusCode::kCancelled) {
    return Status::Cancelled(
        fmt::format("stopped after {} of {}", job.steps, Counted(plan_.job.steps, "step")));
  }
  return job.status.WithContext(
      fmt::format("training ended after {} of {}", job.steps, Counted(plan_.job.steps, "step")));
}

}  // namespace motley
