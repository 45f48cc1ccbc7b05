// SPDX-License-Identifier: Apache-2.0
#include "cli/run/launch.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "cli/machine/own_address.h"
#include "cli/run/hosts.h"
#include "cli/terminal/error_stream.h"
#include "cli/terminal/exit_code.h"
#include "data/files/file_io.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr size_t kLastErrors = 8;
constexpr Duration kLook = std::chrono::milliseconds(20);
constexpr Duration kWatch = std::chrono::seconds(1);
// Workers leave by themselves when the server says goodbye. This is how long that may take.
constexpr Duration kFarewell = std::chrono::seconds(3);
// A server without workers that runs for longer may have been left by them too early.
constexpr Duration kAlone = std::chrono::seconds(5);
constexpr Duration kRestartDelay = std::chrono::seconds(1);

}  // namespace

Launch::Launch(UvLoop& loop, LaunchPlan plan) : loop_(loop), plan_(std::move(plan)) {
  for (const WorkerPlace& place : plan_.workers) workers_.push_back({.place = place});
}

Launch::~Launch() {
  for (const TimerId timer : timers_) loop_.Cancel(timer);
  loop_.Cancel(look_);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<int> Launch::Run() {
  if (serves()) {
    MOTLEY_RETURN_IF_ERROR(StartServer());
    LookForAddress();
  } else {
    StartWorkers(plan_.server);
    if (plan_.server_gone) WatchServer();
  }
  loop_.Run();
  if (stopped_by_ != 0) return 128 + stopped_by_;
  return code_;
}

Status Launch::StartServer() {
  std::error_code error;
  std::string folder = (std::filesystem::temp_directory_path(error) / "motley-run-XXXXXX").string();
  if (error || mkdtemp(folder.data()) == nullptr) {
    return Status::Resource(fmt::format("cannot create a folder in {} (TMPDIR names another place)",
                                        std::filesystem::path(folder).parent_path().string()));
  }
  folder_ = folder;
  ProcessOptions options;
  options.command = plan_.command;
  options.environment = EnvironmentWith(ServerVariables());
  options.inherits_input = isatty(STDIN_FILENO) == 0;  // Only the foreground reads a terminal.
  MOTLEY_ASSIGN_OR_RETURN(server_, Process::Start(loop_, options, [this](const ProcessExit& exit) {
                            OnServerEnd(exit);
                          }));
  return Status::Ok();
}

std::vector<std::string> Launch::ServerVariables() const {
  return {"MOTLEY_ROLE=server", "MOTLEY_LISTEN=" + plan_.listen,
          "MOTLEY_ADDRESS_FILE=" + folder_ + "/address", "MOTLEY_TOKEN=" + plan_.token,
          fmt::format("MOTLEY_WORKERS={}", plan_.job_workers)};
}

std::vector<std::string> Launch::WorkerVariables(const Worker& worker) const {
  std::vector<std::string> variables{"MOTLEY_ROLE=worker", "MOTLEY_SERVER=" + address_,
                                     "MOTLEY_TOKEN=" + plan_.token,
                                     "MOTLEY_WORKER_NAME=" + worker.place.name};
  // Lines of Python would otherwise arrive late, or never from a worker that is killed.
  const char* unbuffered = getenv("PYTHONUNBUFFERED");
  variables.push_back(fmt::format("PYTHONUNBUFFERED={}", unbuffered != nullptr ? unbuffered : "1"));
  if (plan_.threads == 0 || !worker.place.host.empty()) return variables;
  for (const char* name : {"OMP_NUM_THREADS", "MOTLEY_WORKER_THREADS"}) {
    if (getenv(name) == nullptr) variables.push_back(fmt::format("{}={}", name, plan_.threads));
  }
  return variables;
}

void Launch::LookForAddress() {
  if (ending()) return;
  Result<std::string> found = ReadRawFile(folder_ + "/address");
  if (!found.ok()) {
    look_ = loop_.After(kLook, [this] { LookForAddress(); });
    return;
  }
  const std::string listening = found->substr(0, found->find('\n'));
  const std::string address = ReachableAddress(listening, plan_.host);
  if (plan_.listening) {
    if (const Status status = plan_.listening(address); !status.ok()) {
      code_ = Fail(status);
      return StopServer();
    }
  }
  StartWorkers(address);
}

void Launch::StartWorkers(const std::string& address) {
  address_ = address;
  for (Worker& worker : workers_) StartWorker(worker);
}

void Launch::StartWorker(Worker& worker) {
  const WorkerPlace& place = worker.place;
  const std::vector<std::string> variables = WorkerVariables(worker);
  ProcessOptions options;
  std::string script;
  if (place.host.empty()) {
    options.command = plan_.command;
    options.environment = EnvironmentWith(variables);
  } else {
    std::error_code ignored;
    script =
        RemoteScript(plan_.command, std::filesystem::current_path(ignored).string(), variables);
    options.command = SshCommand(place.host);
    options.environment = EnvironmentWith({});
    options.input = &script;
  }
  options.line = [this, &worker](std::string_view line, bool error) {
    OnLine(worker, line, error);
  };
  worker.failed = worker.starts_again = false;
  worker.last_errors.clear();
  auto process = Process::Start(
      loop_, options, [this, &worker](const ProcessExit& exit) { OnWorkerEnd(worker, exit); });
  if (process.ok()) {
    worker.process = std::move(process).value();
  } else {
    OnWorkerFailed(worker, "did not start: " + process.status().ToString());
  }
}

void Launch::OnLine(Worker& worker, std::string_view line, bool error) {
  if (error) {
    worker.last_errors.emplace_back(line);
    if (worker.last_errors.size() > kLastErrors) worker.last_errors.pop_front();
  }
  // Only the server's output is the result.
  if (!plan_.quiet) {
    WriteToErrorStream(fmt::format("[worker {}] {}\n", worker.place.number, line));
  }
}

void Launch::OnServerEnd(const ProcessExit& exit) {
  const bool listened = !address_.empty();
  ended_ = true;
  if (code_ == 0) code_ = exit.ShellCode();
  if (plan_.server_ended) plan_.server_ended();
  if (stopped_by_ == 0 && exit.signal != 0) Warn(fmt::format("the server ended {}", exit.Text()));
  if (stopped_by_ == 0 && !exit.failed() && !listened) {
    Warn(
        "the program ended without serving a job, so no worker was started. motley run is for "
        "programs that train with Motley");
  }
  DismissWorkers(exit.failed() ? Duration::zero() : kFarewell);
  CheckDone();
}

void Launch::OnWorkerEnd(Worker& worker, const ProcessExit& exit) {
  worker.process.reset();
  if (ending()) return CheckDone();
  if (exit.failed()) return OnWorkerFailed(worker, fmt::format("ended {}", exit.Text()));
  CheckWorkersLeft();
  CheckDone();
}

void Launch::OnWorkerFailed(Worker& worker, const std::string& how) {
  const WorkerPlace& place = worker.place;
  std::string text = fmt::format("worker {}{} {}", place.number,
                                 place.host.empty() ? "" : " on " + place.host, how);
  for (const std::string& line : worker.last_errors) text += "\n  " + line;
  worker.failed = true;
  worker.starts_again = worker.restarts < plan_.restarts;
  if (!worker.starts_again) {
    Warn(text);
    CheckWorkersLeft();
    return CheckDone();
  }
  ++worker.restarts;
  Warn(fmt::format("{}\nmotley: starting it again ({} of {})", text, worker.restarts,
                   Counted(plan_.restarts, "restart")));
  timers_.push_back(loop_.After(kRestartDelay, [this, &worker] {
    if (!ending()) StartWorker(worker);
  }));
}

// Ends the job if all workers failed and nobody else will come. The server dismisses workers in
// good order before it ends itself, so one that ended well means that it usually ends soon.
void Launch::CheckWorkersLeft() {
  const bool all_over = std::all_of(workers_.begin(), workers_.end(),
                                    [](const Worker& worker) { return worker.over(); });
  if (!serves() || !all_over || plan_.job_workers > workers_.size()) return;
  const bool all_failed = std::all_of(workers_.begin(), workers_.end(),
                                      [](const Worker& worker) { return worker.failed; });
  if (!all_failed) {
    timers_.push_back(loop_.After(kAlone, [this] {
      if (ending()) return;
      Warn(
          "all workers have ended, and the server still runs. If it waits for workers, their part "
          "of the program ended too early, for example after fewer epochs: Ctrl-C ends the job");
    }));
    return;
  }
  Warn("no worker is left, so the server is asked to stop (--restart starts lost workers again)");
  code_ = kExitUnavailable;
  StopServer();
}

void Launch::StopServer() {
  server_->Signal(SIGTERM);
  timers_.push_back(loop_.After(plan_.grace, [this] { SignalAll(SIGKILL); }));
}

void Launch::Stop(int signal) {
  if (stopped_by_ != 0) return SignalAll(SIGKILL);
  stopped_by_ = signal;
  if (server_ != nullptr && server_->running()) {
    StopServer();
  } else {
    DismissWorkers(Duration::zero());
  }
  CheckDone();
}

// Asks workers that have not left after `until_asked`, and kills them in the end.
void Launch::DismissWorkers(Duration until_asked) {
  timers_.push_back(loop_.After(until_asked, [this, until_asked] {
    if (until_asked > Duration::zero()) WarnOfLateWorkers(until_asked);
    for (Worker& worker : workers_) AskToLeave(worker);
    timers_.push_back(loop_.After(plan_.grace, [this] { SignalAll(SIGKILL); }));
  }));
}

void Launch::WarnOfLateWorkers(Duration after) const {
  std::string late;
  for (const Worker& worker : workers_) {
    if (worker.process == nullptr) continue;
    late += fmt::format("{}{}", late.empty() ? "worker " : ", worker ", worker.place.number);
    if (!worker.place.host.empty()) late += " on " + worker.place.host;
  }
  if (late.empty()) return;
  Warn(
      fmt::format("{} still runs {:.0f} s after the server ended: it gets SIGTERM, and is killed "
                  "after --grace ({:.0f} s)",
                  late, ToSeconds(after), ToSeconds(plan_.grace)));
}

void Launch::AskToLeave(Worker& worker) {
  if (worker.process == nullptr) return;
  if (worker.place.host.empty()) return worker.process->Signal(SIGTERM);
  worker.process->CloseInput();  // The script there then ends the worker.
}

void Launch::SignalAll(int number) {
  if (server_ != nullptr) server_->Signal(number);
  for (Worker& worker : workers_) {
    if (worker.process != nullptr) worker.process->Signal(number);
  }
}

void Launch::WatchServer() {
  look_ = loop_.After(kWatch, [this] {
    if (ending()) return;
    if (!plan_.server_gone()) return WatchServer();
    ended_ = true;
    DismissWorkers(kFarewell);
  });
}

void Launch::CheckDone() {
  const bool workers_run =
      std::any_of(workers_.begin(), workers_.end(), [this](const Worker& worker) {
        return worker.process != nullptr || (worker.starts_again && !ending());
      });
  const bool server_runs = serves() && !ended_;
  if (!workers_run && !server_runs) loop_.Stop();
}

}  // namespace motley
