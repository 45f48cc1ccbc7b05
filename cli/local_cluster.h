// SPDX-License-Identifier: Apache-2.0
// The local workers of `motley train`: one process each, started from this same executable. None
// outlives this process, however it ends: a worker dies with its parent, and leaves when its input
// or its connection closes. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/status.h"
#include "runtime/fault_plan.h"
#include "runtime/uv_loop.h"

namespace motley {

struct LocalClusterOptions {
  std::string server;  // Address that the workers connect to.
  std::string token;   // Handed over through their input, not in their arguments.
  uint32_t workers = 1;
  uint32_t threads = 1;        // Per worker.
  std::vector<double> speeds;  // One per worker, emulated; empty: as fast as they can.
  Duration sample_time{};      // Of a sample at speed 1, with `speeds`.
};

class LocalCluster {
 public:
  // Runs when a process ended by itself or by a signal; `how` in words.
  using Exited = std::function<void(WorkerId worker, const std::string& how)>;

  // kResource names the worker that could not be started and why; those before it are gone again.
  static Result<std::unique_ptr<LocalCluster>> Start(UvLoop& loop, LocalClusterOptions options,
                                                     Exited exited);
  // Kills and reaps whatever is left; the loop must not be running.
  virtual ~LocalCluster() = default;

  // kill: SIGKILL. pause: SIGSTOP, SIGCONT after its duration. slow and nan: told over the input.
  virtual void Strike(const Fault& fault) = 0;
  // Workers still running.
  virtual uint32_t running() const = 0;
  // Continues paused workers, lets all leave by themselves for `grace`, kills the rest; `done` runs
  // once when none is left. Exited is no longer called. A second call replaces `grace` and `done`.
  virtual void Shutdown(Duration grace, Task done) = 0;
};

}  // namespace motley
