// SPDX-License-Identifier: Apache-2.0
#include "cli/worker_command.h"

#include <signal.h>
#include <sys/prctl.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string_view>
#include <utility>

#include "cli/exit_code.h"
#include "cli/line_input.h"
#include "cli/parse.h"
#include "devices/cpu/cpu_device.h"
#include "devices/paced_device.h"
#include "fmt/core.h"
#include "runtime/uv_loop.h"
#include "runtime/worker_node.h"
#include "transport/tcp_transport.h"

namespace motley {
namespace {

Incarnation FreshIncarnation() {
  std::random_device random;
  const uint64_t high = random();
  const uint64_t low = random();
  return (high << 32 | low) | 1;  // Not 0.
}

// Everything that a worker process is made of, in the order it must be taken down.
class LocalWorker {
 public:
  LocalWorker(UvLoop& loop, const WorkerFlags& flags) : loop_(loop), flags_(flags) {}

  Status Open() {
    CpuDeviceOptions options;
    options.threads = flags_.threads;
    MOTLEY_ASSIGN_OR_RETURN(device_, MakeCpuDevice(loop_, options));
    if (!flags_.sample_time.empty()) {
      constexpr double kMostSeconds = 1e9;  // Chosen times grow with the sum of the speeds.
      MOTLEY_ASSIGN_OR_RETURN(const Duration time,
                              ParseDuration("--sample-time", flags_.sample_time, kMostSeconds));
      paced_ = MakePacedDevice(loop_, *device_, Pace{time, flags_.speed});
    }
    return Status::Ok();
  }

  Status OnLine(const std::string& line) {
    if (node_ == nullptr) return Join(line);
    if (line == "nan") {
      spoil_next_ = true;
      return Status::Ok();
    }
    return SetSpeed(line);
  }

  void OnInputClosed() { Leave(Status::Unavailable("the program that started this worker ended")); }

  const Status& result() const { return result_; }

 private:
  Status Join(const std::string& token) {
    transport_ = MakeTcpTransport(loop_.handle());
    WorkerOptions options;
    options.server = flags_.connect;
    options.token = token;
    options.name = fmt::format("worker-{}", flags_.index);
    options.index_hint = flags_.index;
    options.incarnation = FreshIncarnation();
    Device& device = paced_ ? static_cast<Device&>(*paced_) : *device_;
    node_ = WorkerNode::Create(Env{loop_, *transport_, device}, options);
    node_->SetAnswerFilter([this](StepId, std::span<float> vector) {
      if (std::exchange(spoil_next_, false) && !vector.empty()) {
        vector[0] = std::numeric_limits<float>::quiet_NaN();
      }
    });
    node_->Start([this](Status status) { Leave(std::move(status)); });
    return Status::Ok();
  }

  Status SetSpeed(std::string_view line) {
    constexpr std::string_view kSpeed = "speed ";
    double speed = 0;
    const bool known = line.starts_with(kSpeed);
    if (known) std::from_chars(line.data() + kSpeed.size(), line.data() + line.size(), speed);
    if (!(speed > 0) || !std::isfinite(speed) || paced_ == nullptr) {
      return Status::InvalidArgument(fmt::format("cannot follow the command '{}'", line));
    }
    paced_->SetSpeed(speed);
    return Status::Ok();
  }

  void Leave(Status status) {
    result_ = std::move(status);
    loop_.Stop();
  }

  UvLoop& loop_;
  const WorkerFlags& flags_;
  Status result_;
  bool spoil_next_ = false;
  std::unique_ptr<Device> device_;
  std::unique_ptr<PacedDevice> paced_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<WorkerNode> node_;
};

Status Work(const WorkerFlags& flags) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  LocalWorker worker(*loop, flags);
  MOTLEY_RETURN_IF_ERROR(worker.Open());
  LineInput input(
      *loop,
      [&](const std::string& line) {
        if (Status status = worker.OnLine(line); !status.ok()) Warn(status.ToString());
      },
      [&] { worker.OnInputClosed(); });
  if (Status status = input.Open(); !status.ok()) {
    Warn(status.ToString());  // There is no server yet that could say it.
    return status;
  }
  loop->Run();
  return worker.result();
}

}  // namespace

int RunWorker(const WorkerFlags& flags) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);  // Ctrl-C reaches the whole group; the parent decides what it means.
  const Status status = Work(flags);
  // The server says to people why a worker went; this end only gives the exit code.
  return ExitCodeOf(status);
}

}  // namespace motley
