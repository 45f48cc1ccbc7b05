// SPDX-License-Identifier: Apache-2.0
#include "api/workers/worker_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "api/fresh_ids.h"
#include "api/workers/line_input.h"
#include "api/workers/local_workers.h"
#include "api/workers/worker_device.h"
#include "api/workers/worker_environment.h"
#include "base/host.h"
#include "data/readers.h"
#include "devices/cpu/cpu_device.h"
#include "devices/device_list.h"
#include "transport/channel/stream_transport.h"
#include "transport/stream/schemes.h"

namespace motley {
namespace {

// While it lives, this process dies with its parent.
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

// By default a process is one worker, because servers count workers.
Result<std::vector<DeviceGroup>> DevicesOf(const WorkerTask& task, bool built_in) {
  if (task.devices.empty() && built_in) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<ListedDevice> defaults, DefaultDevices());
    return std::vector{DevicesOfOne(defaults)};
  }
  MOTLEY_ASSIGN_OR_RETURN(std::vector<DeviceGroup> devices, ChooseDevices(task.devices));
  if (!built_in) MOTLEY_RETURN_IF_ERROR(CheckNotJoined(devices).WithContext("`devices`"));
  return devices;
}

// All parts of a worker process, in order of construction.
class WorkerProcess {
 public:
  WorkerProcess(UvLoop& loop, StopSwitch& stop) : loop_(loop), stop_(stop) {}
  ~WorkerProcess() { stop_.Listen(nullptr); }

  Status Open(const WorkerTask& task, const std::shared_ptr<const ForeignTrainer>& foreign) {
    if (task.node.holds_only) return OpenShardServer(task);
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<DeviceGroup> devices,
                            DevicesOf(task, foreign == nullptr));
    for (const DeviceGroup& group : devices) {
      MOTLEY_RETURN_IF_ERROR(OpenSeat(task, group, devices.size(), foreign));
    }
    if (task.child) {
      input_.emplace(
          loop_, [this](const std::string& line) { OnLine(line); },
          [this] { Leave(Status::Unavailable("the job that started this worker ended")); });
      MOTLEY_RETURN_IF_ERROR(input_->Open());
    }
    return Status::Ok();
  }

  Status Run() {
    const auto stopped = [this] { OnStop(); };
    stop_.Listen(stopped);
    for (const auto& seat : seats_) {
      seat->node->Start([this, &seat = *seat](const Status& status) { LeaveSeat(seat, status); });
    }
    if (stop_.thrown() > 0) stopped();
    loop_.Run();
    return result_;
  }

 private:
  // A worker and its devices, in order of construction.
  struct Seat {
    std::unique_ptr<WorkerDevice> device;  // Null in a shard server.
    std::unique_ptr<Device> shard_device;  // Updates shards while the device computes.
    std::unique_ptr<Transport> transport;
    std::unique_ptr<WorkerNode> node;
    bool left = false;
  };

  // Unknown commands do not come from a job of this release, and are ignored.
  void OnLine(std::string_view line) {
    constexpr std::string_view kSpeed = "speed ";
    constexpr std::string_view kLie = "lie ";
    const auto number = [line](std::string_view word) {
      double value = 0;
      std::from_chars(line.data() + word.size(), line.data() + line.size(), value);
      return value;
    };
    if (line == "nan") spoil_next_ = true;
    if (line.starts_with(kLie)) lie_ = static_cast<float>(number(kLie));
    if (spoil_next_ || lie_ != 1) SpoilAnswers();
    if (!line.starts_with(kSpeed)) return;
    const double speed = number(kSpeed);
    if (!(speed > 0 && std::isfinite(speed))) return;
    for (const auto& seat : seats_) seat->device->SetSpeed(speed);
  }

  // Set only when a fault asks for it. With a filter, no slice is sent before all are computed.
  void SpoilAnswers() {
    for (const auto& seat : seats_) {
      seat->node->SetAnswerFilter([this](StepId, std::span<float> vector) {
        if (lie_ != 1) {
          for (float& value : vector) value *= lie_;
        }
        if (std::exchange(spoil_next_, false) && !vector.empty()) {
          vector[0] = std::numeric_limits<float>::quiet_NaN();
        }
      });
    }
  }

  Status OpenSeat(const WorkerTask& task, const DeviceGroup& group, size_t seats,
                  const std::shared_ptr<const ForeignTrainer>& foreign) {
    auto seat = std::make_unique<Seat>();
    WorkerDeviceOptions options{.threads = task.threads, .pace = task.pace};
    options.patience = foreign == nullptr ? std::optional(task.patience) : std::nullopt;
    MOTLEY_ASSIGN_OR_RETURN(seat->device, WorkerDevice::Open(loop_, group, options));
    seat->transport = MakeStreamTransport(loop_.handle());
    WorkerOptions node = task.node;
    node.incarnation = FreshIncarnation();
    node.foreign = foreign;
    if (node.name.empty()) node.name = WorkerName(node.index_hint, group);
    if (seats > 1) {
      node.memory_bytes /= seats;
      if (!group.is_processor()) node.name += " " + group.Label();
    }
    MOTLEY_ASSIGN_OR_RETURN(seat->shard_device, MakeCpuDevice(loop_, {.threads = 1}));
    Env env{loop_, *seat->transport, seat->device->front()};
    env.shard_device = seat->shard_device.get();
    seat->node = WorkerNode::Create(env, node);
    seats_.push_back(std::move(seat));
    return Status::Ok();
  }

  // Nothing computes beside the shards, so they have all threads.
  Status OpenShardServer(const WorkerTask& task) {
    auto seat = std::make_unique<Seat>();
    MOTLEY_ASSIGN_OR_RETURN(seat->shard_device, MakeCpuDevice(loop_, {.threads = task.threads}));
    seat->transport = MakeStreamTransport(loop_.handle());
    WorkerOptions node = task.node;
    node.incarnation = FreshIncarnation();
    seat->node = WorkerNode::Create({loop_, *seat->transport, *seat->shard_device}, node);
    seats_.push_back(std::move(seat));
    return Status::Ok();
  }

  // If a device fails, the others go on. Its error is reported at the end.
  void LeaveSeat(Seat& seat, const Status& status) {
    seat.left = true;
    if (result_.ok()) result_ = status;
    if (left()) loop_.Stop();
  }

  bool left() const {
    return std::all_of(seats_.begin(), seats_.end(), [](const auto& seat) { return seat->left; });
  }

  // On the first stop the worker takes leave of the server.
  void OnStop() {
    if (stop_.thrown() > 1 || left()) return Leave(Status::Cancelled("the worker was stopped"));
    for (const auto& seat : seats_) {
      if (!seat->left) seat->node->Leave();
    }
  }

  void Leave(Status status) {
    result_ = std::move(status);
    loop_.Stop();
  }

  UvLoop& loop_;
  StopSwitch& stop_;
  Status result_;
  bool spoil_next_ = false;
  float lie_ = 1;  // Factor of false answers.
  std::vector<std::unique_ptr<Seat>> seats_;
  std::optional<LineInput> input_;
};

}  // namespace

Result<WorkerTask> PlanWorker(const JobRequest& request) {
  WorkerTask task;
  const bool holds_only = request.role == MOTLEY_SHARD_SERVER;
  if (holds_only && request.server.empty()) {
    return Status::InvalidArgument("a shard server needs the address of its job: give `server`");
  }
  task.node.holds_only = holds_only;
  task.node.server = request.server;
  task.node.token = request.token;
  task.node.name = request.name;
  task.node.wait = request.wait;
  task.node.forever = request.forever;
  task.devices = request.devices;
  task.threads = request.threads;
  MOTLEY_ASSIGN_OR_RETURN(task.patience, PatienceFromEnvironment());
  uint64_t memory = request.memory_bytes;
  if (request.server.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const WorkerEnvironment settings, ReadWorkerEnvironment());
    task.child = settings.index >= 0;
    task.node.server = settings.server;
    task.node.token = settings.token;
    task.node.index_hint = settings.index;
    if (task.node.name.empty()) task.node.name = settings.name;
    if (task.devices.empty()) task.devices = settings.device;
    if (task.threads == 0) task.threads = settings.threads;
    if (memory == 0) memory = settings.memory_bytes;
    if (settings.sample_time) task.pace = Pace{*settings.sample_time, settings.speed};
  }
  if (!task.child && task.node.name.empty()) task.node.name = HostName();
  task.node.listen = ListenLike(task.node.server);
  if (memory == 0) memory = AvailableMemoryBytes() / 2;
  if (memory != 0) task.node.memory_bytes = memory;
  if (task.node.token.empty()) task.node.token = TokenFromEnvironment();
  if (task.node.token.size() > kMaxTokenBytes) {
    return CheckToken(task.node.token, task.node.server);
  }
  if (task.node.token.empty()) {
    return Status::InvalidArgument(
        fmt::format("a {} needs the job's `token`: give it, or set MOTLEY_TOKEN in its environment",
                    holds_only ? "shard server" : "worker"));
  }
  if (!task.child) MOTLEY_RETURN_IF_ERROR(ParseAddress(task.node.server).status());
  return task;
}

Status RunWorkerTask(UvLoop& loop, StopSwitch& stop, const WorkerTask& task,
                     std::shared_ptr<const ForeignTrainer> foreign) {
  std::optional<TiedToParent> tied;
  if (task.child) tied.emplace();
  WorkerProcess worker(loop, stop);
  MOTLEY_RETURN_IF_ERROR(worker.Open(task, std::move(foreign)));
  return worker.Run();
}

}  // namespace motley
