// SPDX-License-Identifier: Apache-2.0
// The processes of one `motley run`: a server and its workers, all from the same command. Each
// learns by environment variables what it is (docs/reference/environment.md). Loop thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "base/time.h"
#include "cli/run/process.h"
#include "runtime/uv_loop.h"

namespace motley {

struct WorkerPlace {
  uint32_t number = 0;  // In messages.
  std::string name;     // MOTLEY_WORKER_NAME
  std::string host;     // Where ssh starts it; empty: this machine.
};

struct LaunchPlan {
  std::vector<std::string> command;
  std::string token;
  // The server runs here and listens at `listen`. If `listen` is empty, it is elsewhere, and the
  // workers connect to `server`.
  std::string listen;
  std::string server;
  std::string host;          // By which workers reach this machine; empty: chosen.
  uint32_t job_workers = 0;  // MOTLEY_WORKERS
  std::vector<WorkerPlace> workers;
  uint32_t restarts = 0;  // For each worker.
  uint32_t threads = 0;   // Per worker of this machine; 0: the program decides.
  bool quiet = false;     // Passes on no lines of workers.
  Duration grace{};       // From SIGTERM to SIGKILL.

  // Gets the address for workers once the server listens. An error ends the job.
  std::function<Status(const std::string& address)> listening;
  std::function<void()> server_ended;
  // Asked every second if the server is elsewhere: true if it has ended.
  std::function<bool()> server_gone;
};

class Launch {
 public:
  Launch(UvLoop& loop, LaunchPlan plan);
  ~Launch();  // Kills what still runs.

  // Returns when all processes have ended. The result is the server's exit code; 128 + N if signal
  // N ended the job; kExitUnavailable if no worker was left; kExitOk if the server is elsewhere.
  // Errors: the server could not be started.
  Result<int> Run();
  // Ends the job, the server first. The second call kills everything.
  void Stop(int signal);
  // Sends a signal to all processes of this machine.
  void SignalAll(int number);

 private:
  struct Worker {
    WorkerPlace place;
    std::unique_ptr<Process> process;
    std::deque<std::string> last_errors;  // Lines of its standard error.
    uint32_t restarts = 0;
    bool failed = false;
    bool starts_again = false;  // Soon.

    bool over() const { return process == nullptr && !starts_again; }
  };

  bool serves() const { return !plan_.listen.empty(); }
  bool ending() const { return ended_ || stopped_by_ != 0; }
  Status StartServer();
  void LookForAddress();
  void StartWorkers(const std::string& address);
  void StartWorker(Worker& worker);
  void OnLine(Worker& worker, std::string_view line, bool error);
  void OnServerEnd(const ProcessExit& exit);
  void OnWorkerEnd(Worker& worker, const ProcessExit& exit);
  void OnWorkerFailed(Worker& worker, const std::string& how);
  void CheckWorkersLeft();
  void StopServer();
  void DismissWorkers(Duration until_asked);
  void WarnOfLateWorkers(Duration after) const;
  void AskToLeave(Worker& worker);
  void WatchServer();
  void CheckDone();
  std::vector<std::string> ServerVariables() const;
  std::vector<std::string> WorkerVariables(const Worker& worker) const;

  UvLoop& loop_;
  LaunchPlan plan_;
  std::unique_ptr<Process> server_;  // Null: elsewhere.
  std::vector<Worker> workers_;
  std::string folder_;  // Has the file for the server's address.
  std::string address_;
  bool ended_ = false;  // The server has ended.
  int code_ = 0;
  int stopped_by_ = 0;  // The signal; 0: none.
  TimerId look_ = 0;    // Looks for the server's address or end.
  std::vector<TimerId> timers_;
};

}  // namespace motley
