// SPDX-License-Identifier: Apache-2.0
#include "api/worker_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "api/fresh_ids.h"
#include "api/line_input.h"
#include "api/worker_environment.h"
#include "devices/cpu/cpu_device.h"
#include "training/readers.h"
#include "transport/tcp_transport.h"

namespace motley {
namespace {

// While it lives, this process dies with the one that started it.
class TiedToParent {
 public:
  TiedToParent() {
    prctl(PR_GET_PDEATHSIG, &before_);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
  }
  ~TiedToParent() { prctl(PR_SET_PDEATHSIG, before_); }
  TiedToParent(const TiedToParent&) = delete;
  TiedToParent& operator=(const TiedToParent&) = delete;

 private:
  int before_ = 0;
};

// Everything that a worker process is made of, in the order it must be taken down.
class WorkerProcess {
 public:
  WorkerProcess(UvLoop& loop, StopSwitch& stop) : loop_(loop), stop_(stop) {}
  ~WorkerProcess() { stop_.Listen(nullptr); }

  Status Open(const WorkerTask& task, std::shared_ptr<const ForeignTrainer> foreign) {
    CpuDeviceOptions options;
    options.threads = task.threads;
    MOTLEY_ASSIGN_OR_RETURN(cpu_, MakeCpuDevice(loop_, options));
    if (task.pace) paced_ = MakePacedDevice(loop_, *cpu_, *task.pace);
    transport_ = MakeTcpTransport(loop_.handle());
    WorkerOptions node = task.node;
    node.incarnation = FreshIncarnation();
    node.foreign = std::move(foreign);
    Device& device = paced_ ? static_cast<Device&>(*paced_) : *cpu_;
    node_ = WorkerNode::Create(Env{loop_, *transport_, device}, node);
    node_->SetAnswerFilter([this](StepId, std::span<float> vector) {
      if (std::exchange(spoil_next_, false) && !vector.empty()) {
        vector[0] = std::numeric_limits<float>::quiet_NaN();
      }
    });
    if (task.child) {
      input_.emplace(
          loop_, [this](const std::string& line) { OnLine(line); },
          [this] { Leave(Status::Unavailable("the job that started this worker ended")); });
      MOTLEY_RETURN_IF_ERROR(input_->Open());
    }
    return Status::Ok();
  }

  Status Run() {
    const auto stopped = [this] { Leave(Status::Cancelled("the worker was stopped")); };
    stop_.Listen(stopped);
    node_->Start([this](Status status) { Leave(std::move(status)); });
    if (stop_.thrown() > 0) stopped();
    loop_.Run();
    return result_;
  }

 private:
  // Commands that make no sense are not from a job of this release.
  void OnLine(std::string_view line) {
    constexpr std::string_view kSpeed = "speed ";
    if (line == "nan") spoil_next_ = true;
    if (!line.starts_with(kSpeed)) return;
    double speed = 0;
    std::from_chars(line.data() + kSpeed.size(), line.data() + line.size(), speed);
    if (speed > 0 && std::isfinite(speed) && paced_) paced_->SetSpeed(speed);
  }

  void Leave(Status status) {
    result_ = std::move(status);
    loop_.Stop();
  }

  UvLoop& loop_;
  StopSwitch& stop_;
  Status result_;
  bool spoil_next_ = false;
  std::unique_ptr<Device> cpu_;
  std::unique_ptr<PacedDevice> paced_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<WorkerNode> node_;
  std::optional<LineInput> input_;
};

}  // namespace

Result<WorkerTask> PlanWorker(const JobRequest& request) {
  WorkerTask task;
  task.node.server = request.server;
  task.node.token = request.token;
  task.node.name = request.name.empty() ? "worker" : request.name;
  task.threads = request.threads;
  uint64_t memory = request.memory_bytes;
  if (request.server.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const WorkerEnvironment told, ReadWorkerEnvironment());
    task.child = true;
    task.tied = told.index >= 0;
    task.node.server = told.server;
    task.node.token = told.token;
    task.node.index_hint = told.index;
    if (request.name.empty()) task.node.name = fmt::format("worker-{}", told.index);
    if (task.threads == 0) task.threads = told.threads;
    if (memory == 0) memory = told.memory_bytes;
    if (told.sample_time) task.pace = Pace{*told.sample_time, told.speed};
  }
  if (memory == 0) memory = AvailableMemoryBytes() / 2;
  if (memory != 0) task.node.memory_bytes = memory;
  if (task.node.token.empty()) task.node.token = TokenFromEnvironment();
  if (!task.node.token.empty()) return task;
  return Status::InvalidArgument(
      "a worker needs the job's `token`: give it, or set MOTLEY_TOKEN in its environment");
}

Status RunWorkerTask(UvLoop& loop, StopSwitch& stop, const WorkerTask& task,
                     std::shared_ptr<const ForeignTrainer> foreign) {
  std::optional<TiedToParent> tied;
  if (task.tied) tied.emplace();
  WorkerProcess worker(loop, stop);
  MOTLEY_RETURN_IF_ERROR(worker.Open(task, std::move(foreign)));
  return worker.Run();
}

}  // namespace motley
