// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/workers/local_workers.h"
#include "api/workers/worker_environment.h"
#include "base/loop/loop_guard.h"

namespace motley {
namespace {

class ProcessWorkers;

// A process and its two handles. It is freed when both are closed, and never moves.
struct Child {
  ProcessWorkers* owner = nullptr;
  WorkerId worker = 0;
  double speed = 1;
  bool running = false;
  uint64_t pauses = 0;  // A later pause goes on after the end of an earlier one.
  int open_handles = 0;
  uv_process_t process{};
  uv_pipe_t input{};
};

class ProcessWorkers final : public LocalWorkers {
 public:
  ProcessWorkers(UvLoop& loop, std::vector<std::string> command, LocalWorkersOptions options,
                 Exited exited)
      : loop_(loop),
        command_(std::move(command)),
        options_(std::move(options)),
        exited_(std::move(exited)) {}
  ~ProcessWorkers() override;

  Status SpawnAll();
  void Strike(const Fault& fault) override;
  uint32_t running() const override;
  void Shutdown(Duration grace, Task done) override;

 private:
  Status Spawn(WorkerId worker);
  std::vector<std::string> Environment(WorkerId worker) const;
  static void OnExit(uv_process_t* process, int64_t exit_status, int term_signal);
  static void Close(Child& child);
  void Tell(Child& child, std::string_view line);
  void Pause(Child& child, Duration duration);
  void FinishShutdown();

  UvLoop& loop_;
  std::vector<std::string> command_;
  LocalWorkersOptions options_;
  Exited exited_;
  std::vector<std::unique_ptr<Child>> children_;
  bool leaving_ = false;
  Task left_;
  TimerId kill_timer_ = 0;
  std::vector<TimerId> pause_timers_;
};

Status DescribeExit(WorkerId worker, int64_t exit_status, int term_signal) {
  return Status::Unavailable(
      term_signal != 0
          ? fmt::format("the process of worker {} ended by signal {}", worker, term_signal)
          : fmt::format("the process of worker {} ended with exit code {}", worker, exit_status));
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

ProcessWorkers::~ProcessWorkers() {
  leaving_ = true;
  loop_.Cancel(kill_timer_);
  for (const TimerId timer : pause_timers_) loop_.Cancel(timer);
  for (const auto& child : children_) {
    if (child->running) uv_process_kill(&child->process, SIGKILL);
  }
  const auto all_closed = [&] {
    return std::all_of(children_.begin(), children_.end(),
                       [](const auto& child) { return child->open_handles == 0; });
  };
  while (!all_closed()) uv_run(loop_.handle(), UV_RUN_ONCE);
}

Status ProcessWorkers::SpawnAll() {
  for (WorkerId worker = 0; worker < options_.workers; ++worker) {
    MOTLEY_RETURN_IF_ERROR(Spawn(worker));
  }
  return Status::Ok();
}

std::vector<std::string> ProcessWorkers::Environment(WorkerId worker) const {
  WorkerEnvironment environment;
  environment.server = options_.server;
  environment.token = options_.token;
  environment.name = options_.name;
  if (options_.workers > 1 && !environment.name.empty() &&
      !options_.devices[worker].is_processor()) {
    environment.name += " " + options_.devices[worker].Label();
  }
  environment.index = static_cast<int32_t>(worker);
  environment.threads = options_.threads;
  environment.device = options_.devices[worker].Label();
  environment.memory_bytes = options_.memory_bytes;
  if (!options_.speeds.empty()) {
    environment.sample_time = options_.sample_time;
    environment.speed = options_.speeds[worker];
  }
  return EnvironmentFor(environment);
}

Status ProcessWorkers::Spawn(WorkerId worker) {
  auto child = std::make_unique<Child>();
  child->owner = this;
  child->worker = worker;
  child->speed = options_.speeds.empty() ? 1 : options_.speeds[worker];
  uv_pipe_init(loop_.handle(), &child->input, 0);
  child->input.data = child->process.data = child.get();

  std::vector<std::string> environment = Environment(worker);
  const std::vector<char*> variables = Pointers(environment);
  const std::vector<char*> arguments = Pointers(command_);
  std::array<uv_stdio_container_t, 3> stdio{};
  stdio[0].flags = static_cast<uv_stdio_flags>(UV_CREATE_PIPE | UV_READABLE_PIPE);
  stdio[0].data.stream = reinterpret_cast<uv_stream_t*>(&child->input);
  // Only the program's result goes to standard output.
  const bool errors_shown = fcntl(STDERR_FILENO, F_GETFD) >= 0;
  stdio[1].flags = stdio[2].flags = errors_shown ? UV_INHERIT_FD : UV_IGNORE;
  stdio[1].data.fd = stdio[2].data.fd = STDERR_FILENO;
  uv_process_options_t options{};
  options.exit_cb = OnExit;
  options.file = command_.front().c_str();
  options.args = const_cast<char**>(arguments.data());
  options.env = const_cast<char**>(variables.data());
  options.stdio_count = static_cast<int>(stdio.size());
  options.stdio = stdio.data();

  const int error = uv_spawn(loop_.handle(), &child->process, &options);
  child->open_handles = 2;  // Both handles exist even if spawning failed.
  child->running = error == 0;
  children_.push_back(std::move(child));
  if (error != 0) {
    Close(*children_.back());
    const bool files = error == UV_EMFILE || error == UV_ENFILE;
    return Status::Resource(
        fmt::format("cannot start the process of worker {} of {} ({}): {}{}", worker,
                    options_.workers, command_.front(), uv_strerror(error),
                    files ? "; raise the limit of open files (ulimit -n)" : ""));
  }
  return Status::Ok();
}

void ProcessWorkers::OnExit(uv_process_t* process, int64_t exit_status, int term_signal) {
  auto& child = *static_cast<Child*>(process->data);
  ProcessWorkers& self = *child.owner;
  child.running = false;
  Close(child);
  RunGuarded(process->loop->data, [&] {
    if (!self.leaving_) {
      self.exited_(child.worker, DescribeExit(child.worker, exit_status, term_signal));
    } else if (self.left_ && self.running() == 0) {
      self.FinishShutdown();
    }
  });
}

void ProcessWorkers::Close(Child& child) {
  const auto closed = [](uv_handle_t* handle) {
    --static_cast<Child*>(handle->data)->open_handles;
  };
  uv_close(reinterpret_cast<uv_handle_t*>(&child.process), closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&child.input), closed);
}

// Lines are short and the pipe is empty, so they are written at once. A worker whose pipe is full
// or closed cannot react any more.
void ProcessWorkers::Tell(Child& child, std::string_view line) {
  std::string text(line);
  text += '\n';
  const uv_buf_t buffer = uv_buf_init(text.data(), static_cast<unsigned>(text.size()));
  uv_try_write(reinterpret_cast<uv_stream_t*>(&child.input), &buffer, 1);
}

void ProcessWorkers::Pause(Child& child, Duration duration) {
  uv_process_kill(&child.process, SIGSTOP);
  const uint64_t pause = ++child.pauses;
  pause_timers_.push_back(loop_.After(duration, [&child, pause] {
    if (child.running && child.pauses == pause) uv_process_kill(&child.process, SIGCONT);
  }));
}

void ProcessWorkers::Strike(const Fault& fault) {
  if (fault.worker >= children_.size()) return;
  Child& child = *children_[fault.worker];
  if (!child.running || leaving_) return;
  switch (fault.kind) {
    case Fault::Kind::kKill: uv_process_kill(&child.process, SIGKILL); break;
    case Fault::Kind::kPause: Pause(child, fault.duration); break;
    case Fault::Kind::kSlow:
      child.speed /= fault.factor;
      Tell(child, fmt::format("speed {}", child.speed));
      break;
    case Fault::Kind::kNan: Tell(child, "nan"); break;
    case Fault::Kind::kLie: Tell(child, fmt::format("lie {}", fault.factor)); break;
  }
}

uint32_t ProcessWorkers::running() const {
  return static_cast<uint32_t>(std::count_if(children_.begin(), children_.end(),
                                             [](const auto& child) { return child->running; }));
}

void ProcessWorkers::Shutdown(Duration grace, Task done) {
  leaving_ = true;
  left_ = std::move(done);
  loop_.Cancel(kill_timer_);  // Set by an earlier call with a longer grace.
  for (const auto& child : children_) {
    if (child->running) uv_process_kill(&child->process, SIGCONT);
  }
  if (running() == 0) return FinishShutdown();
  kill_timer_ = loop_.After(grace, [this] {
    for (const auto& child : children_) {
      if (child->running) uv_process_kill(&child->process, SIGKILL);
    }
  });
}

void ProcessWorkers::FinishShutdown() {
  loop_.Cancel(kill_timer_);
  loop_.Post(std::exchange(left_, nullptr));
}

}  // namespace

Result<std::unique_ptr<LocalWorkers>> StartWorkerProcesses(UvLoop& loop,
                                                           std::vector<std::string> command,
                                                           LocalWorkersOptions options,
                                                           LocalWorkers::Exited exited) {
  auto workers = std::make_unique<ProcessWorkers>(loop, std::move(command), std::move(options),
                                                  std::move(exited));
  MOTLEY_RETURN_IF_ERROR(workers->SpawnAll());
  return std::unique_ptr<LocalWorkers>(std::move(workers));
}

}  // namespace motley
