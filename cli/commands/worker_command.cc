// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/worker_command.h"

#include <pthread.h>
#include <signal.h>

#include <cstdlib>
#include <string>

#include "cli/commands/library_job.h"
#include "cli/terminal/error_stream.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/stop_signals.h"
#include "fmt/core.h"
#include "motley/motley.h"

namespace motley {

namespace {

int Join(const WorkerFlags& flags, int32_t role) {
  const char* const index = std::getenv("MOTLEY_WORKER_INDEX");
  const bool child = flags.server.empty() && index != nullptr;  // A job on this machine started it.
  const char* const token = std::getenv("MOTLEY_TOKEN");
  if (!flags.server.empty() && (token == nullptr || *token == '\0')) {
    Warn(fmt::format(
        "a {} needs the token of its job, which its server prints: set the environment variable "
        "MOTLEY_TOKEN to it (the command line is no place for secrets). A token of your own, set "
        "there and here, stays the same for every job",
        role == MOTLEY_WORKER ? "worker" : "shard server"));
    return kExitUsage;
  }
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.role = role;
  options.threads = flags.threads;
  if (!flags.devices.empty()) options.devices = flags.devices.c_str();
  if (!flags.server.empty()) options.server = flags.server.c_str();
  options.wait = flags.wait.c_str();
  options.forever = flags.forever ? 1 : 0;
  if (!flags.name.empty()) options.name = flags.name.c_str();
  bool verbose = flags.verbose;
  LibraryJob job;
  StopSignals signals;  // Disarmed before the job is destroyed.
  if (const motley_status made = job.Create(options); made != MOTLEY_OK) {
    return FailOfLibrary(made);
  }
  // If the program is run by its own link, inside a tool or after its file was replaced, lists of
  // processes would name all workers `exe`.
  if (child) {
    pthread_setname_np(pthread_self(), fmt::format("motley-w{:.6}", index).c_str());
  }
  // Ctrl-C and the end of the terminal reach the whole process group. The parent decides what they
  // mean.
  if (child) {
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
  }
  if (!child) {
    const auto say = [](void* context, const motley_event* event) {
      const std::string stamp = *static_cast<const bool*>(context) ? TimeStamp() : "";
      if (event->kind == MOTLEY_EVENT_NOTICE) Warn(stamp + event->text);
    };
    if (const motley_status set = motley_job_set_events(job.get(), say, &verbose);
        set != MOTLEY_OK) {
      return FailOfLibrary(set);
    }
    signals.Arm(job.get(),
                role == MOTLEY_WORKER ? "handing the work back; a second signal ends it now"
                                      : "leaving the job; a second signal ends it now",
                "ended by a second signal");
  }
  const motley_status status = motley_job_run(job.get());
  signals.Disarm();
  if (status == MOTLEY_CANCELLED && signals.caught() != 0) return kExitOk;
  // The server reports why a worker that it started is gone. The worker only returns the exit code.
  if (status == MOTLEY_OK || (child && status != MOTLEY_RESOURCE)) return ExitCodeOf(status);
  return FailOfLibrary(status);
}

}  // namespace

int RunWorker(const WorkerFlags& flags) { return Join(flags, MOTLEY_WORKER); }

int RunShardServer(const ShardServerFlags& flags) { return Join(flags, MOTLEY_SHARD_SERVER); }

}  // namespace motley
