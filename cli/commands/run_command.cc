// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "api/fresh_ids.h"
#include "api/request/parse.h"
#include "api/workers/emulation.h"
#include "api/workers/worker_environment.h"
#include "base/counted.h"
#include "base/host.h"
#include "base/status.h"
#include "cli/run/hosts.h"
#include "cli/run/launch.h"
#include "cli/run/signals.h"
#include "cli/run/started_task.h"
#include "cli/terminal/exit_code.h"
#include "fmt/core.h"
#include "fmt/ranges.h"

namespace motley {
namespace {

constexpr double kMostSeconds = 1e6;
constexpr Duration kLook = std::chrono::milliseconds(100);

// --python, MOTLEY_PYTHON, the virtual environment's, or python3.
std::string Interpreter(const RunFlags& flags) {
  if (!flags.python.empty()) return flags.python;
  if (const char* python = std::getenv("MOTLEY_PYTHON"); python != nullptr && *python != '\0') {
    return python;
  }
  if (const char* folder = std::getenv("VIRTUAL_ENV"); folder != nullptr && *folder != '\0') {
    const std::string python = std::string(folder) + "/bin/python";
    if (access(python.c_str(), X_OK) == 0) return python;
  }
  return "python3";
}

Result<std::vector<std::string>> CommandOf(const RunFlags& flags) {
  const std::string& program = flags.program.front();
  const bool python = program.ends_with(".py");
  if (python || program.find('/') != std::string::npos) {
    std::error_code error;
    if (!std::filesystem::exists(program, error)) {
      return Status::NotFound(fmt::format("there is no program {}", program));
    }
  }
  std::vector<std::string> command = flags.program;
  if (python) command.insert(command.begin(), Interpreter(flags));
  return command;
}

// The address to listen at, so that others reach this machine by `address`, like "10.0.0.5",
// "train.local:7000" or "[2001:db8::7]:7000". Takes the port from `address`.
std::string ListenFor(std::string& address) {
  std::string port = "0";
  const size_t colon = address.rfind(':');
  const bool ipv6 = address.starts_with('[');
  if (colon != std::string::npos && (!ipv6 || address[colon - 1] == ']')) {
    port = address.substr(colon + 1);
    address.resize(colon);
  }
  return (ipv6 ? "[::]:" : "0.0.0.0:") + port;
}

class Run {
 public:
  explicit Run(const RunFlags& flags) : flags_(flags) {}

  Result<int> Execute() {
    MOTLEY_ASSIGN_OR_RETURN(const std::optional<StartedTask> task, FindTask());
    MOTLEY_RETURN_IF_ERROR(CheckFlags(task));
    MOTLEY_ASSIGN_OR_RETURN(plan_.command, CommandOf(flags_));
    MOTLEY_ASSIGN_OR_RETURN(plan_.grace, ParseDuration("--grace", flags_.grace, kMostSeconds));
    plan_.restarts = flags_.restart;
    plan_.quiet = flags_.quiet;
    plan_.token = TokenFromEnvironment();
    if (plan_.token.empty()) plan_.token = FreshToken();
    if (!flags_.hosts.empty()) {
      MOTLEY_RETURN_IF_ERROR(PlanHosts());
    } else if (flags_.workers > 0) {
      PlanHere();
    } else {
      MOTLEY_RETURN_IF_ERROR(PlanTask(*task));
    }
    MOTLEY_ASSIGN_OR_RETURN(loop_, UvLoop::Create());
    MOTLEY_ASSIGN_OR_RETURN(signals_, Signals::Open(
                                          *loop_, [this](int number) { Stop(number); },
                                          [this](int number) {
                                            if (launch_ != nullptr) launch_->SignalAll(number);
                                          }));
    if (plan_.listen.empty()) {
      MOTLEY_RETURN_IF_ERROR(FindServer());
      if (stopped_by_ != 0) return 128 + stopped_by_;
    }
    launch_ = std::make_unique<Launch>(*loop_, std::move(plan_));
    return launch_->Run();
  }

 private:
  Status CheckFlags(const std::optional<StartedTask>& task) const {
    const bool given = flags_.workers > 0 || !flags_.hosts.empty();
    if (!given && !task) {
      return Status::InvalidArgument(fmt::format(
          "how many workers? Nothing says so: looked for --workers, --hosts, and the variables of "
          "{}. On one machine: motley run --workers 4 {}",
          TaskSources(), flags_.program.front()));
    }
    if (given && task && task->size > 1) {
      return Status::InvalidArgument(
          fmt::format("{} runs this command {} times, and each would start a job of its own. Leave "
                      "out {}: each task is one worker then",
                      task->starter, task->size, flags_.hosts.empty() ? "--workers" : "--hosts"));
    }
    if (given && (flags_.alone || !flags_.shared.empty())) {
      return Status::InvalidArgument(
          fmt::format("{} is for tasks of srun and mpirun, without --workers and --hosts",
                      flags_.alone ? "--no-local-worker" : "--shared"));
    }
    if (flags_.alone && task->size < 2) {
      return Status::InvalidArgument(fmt::format(
          "--no-local-worker: {} runs one task, so there would be no worker", task->starter));
    }
    return Status::Ok();
  }

  // Processes of this user on this machine reach each other without the network.
  void PlanHere() {
    plan_.listen = "unix://motley-run-" + FreshToken().substr(0, 16);
    plan_.job_workers = flags_.workers;
    plan_.threads = std::max(1U, Cores() / flags_.workers);
    for (uint32_t i = 0; i < flags_.workers; ++i) {
      plan_.workers.push_back({i, fmt::format("worker-{}", i), ""});
    }
  }

  Status PlanHosts() {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, ReadHosts(flags_.hosts));
    plan_.job_workers = flags_.workers > 0 ? flags_.workers : static_cast<uint32_t>(hosts.size());
    if (plan_.job_workers < hosts.size()) {
      return Status::InvalidArgument(
          fmt::format("--workers {}: there are {}. Name fewer, or leave --workers out",
                      flags_.workers, Counted(hosts.size(), "host")));
    }
    std::map<std::string, uint32_t> used;
    for (uint32_t i = 0; i < plan_.job_workers; ++i) {
      const std::string& host = hosts[i % hosts.size()];
      const uint32_t turn = ++used[host];
      plan_.workers.push_back({i, turn == 1 ? host : fmt::format("{}-{}", host, turn), host});
    }
    ListenBeyond();
    return Status::Ok();
  }

  void ListenBeyond() {
    plan_.host = flags_.address;
    plan_.listen = ListenFor(plan_.host);
  }

  Status PlanTask(const StartedTask& task) {
    MOTLEY_ASSIGN_OR_RETURN(meeting_, MeetingPath(task, flags_.shared));
    plan_.job_workers = task.size - (flags_.alone ? 1 : 0);
    const std::string name = fmt::format("{}-{}", HostName(), task.rank);
    if (!task.first() || !flags_.alone) plan_.workers.push_back({task.rank, name, ""});
    if (!task.first()) {
      // Shared folders fail now and then, and that says nothing about the server.
      plan_.server_gone = [this, missed = 0]() mutable {
        const bool missing = access(meeting_.c_str(), F_OK) != 0 && errno == ENOENT;
        missed = missing ? missed + 1 : 0;
        return missed > 1;
      };
      return Status::Ok();
    }
    unlink(meeting_.c_str());
    ListenBeyond();
    plan_.listening = [this, token = plan_.token](const std::string& address) {
      return WriteMeeting(meeting_, {address, token});
    };
    plan_.server_ended = [this] { unlink(meeting_.c_str()); };
    return Status::Ok();
  }

  // Waits until the first task has written where its server is.
  Status FindServer() {
    MOTLEY_ASSIGN_OR_RETURN(const Duration wait,
                            ParseDuration("--wait", flags_.wait, kMostSeconds));
    const Time end = loop_->Now() + wait;
    Status result;
    const std::function<void()> look = [&] {
      const Result<Meeting> found = ReadMeeting(meeting_);
      if (!found.ok() && found.code() == StatusCode::kNotFound && loop_->Now() < end) {
        loop_->After(kLook, look);
        return;
      }
      if (found.ok()) {
        plan_.server = found->address;
        plan_.token = found->token;
      } else if (found.code() == StatusCode::kNotFound) {
        result = Status::Unavailable(
            fmt::format("the first task has not written where its server is: {} did not appear "
                        "within {} (--wait). Do all machines share this folder? --shared or "
                        "MOTLEY_RUN_DIR names another one",
                        meeting_, flags_.wait));
      } else {
        result = found.status();
      }
      loop_->Stop();
    };
    look();
    loop_->Run();
    return result;
  }

  void Stop(int number) {
    if (launch_ == nullptr) {
      stopped_by_ = number;
      return loop_->Stop();
    }
    Warn(stopped_by_ == 0 ? "ending the job; a second signal ends it now"
                          : "ended by a second signal");
    stopped_by_ = number;
    launch_->Stop(number);
  }

  const RunFlags& flags_;
  LaunchPlan plan_;
  std::string meeting_;  // Empty: not a task.
  int stopped_by_ = 0;
  std::unique_ptr<UvLoop> loop_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<Launch> launch_;
};

}  // namespace

int RunRun(const RunFlags& flags) {
  if (flags.program.empty()) {
    Warn("motley run needs a program: motley run --workers 4 train.py");
    return kExitUsage;
  }
  Run run(flags);
  const Result<int> code = run.Execute();
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
