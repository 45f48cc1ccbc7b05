// SPDX-License-Identifier: Apache-2.0
// The thread of a job that motley_job_start runs. The mutex guards the result, for which any thread
// may wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/status.h"

namespace motley {

class JobThread {
 public:
  JobThread() = default;
  ~JobThread();  // Waits for the thread.
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // Once only. Runs `run` on the thread, then makes its result known, and then runs `after`.
  // kResource: there is no thread for it.
  Status Start(std::function<Status()> run, std::function<void()> after);
  // The result of `run`; none if it is still running after this time. Below 0: no limit.
  std::optional<Status> Wait(double timeout_seconds);
  bool started() const { return started_; }  // Any thread.

 private:
  std::atomic<bool> started_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<Status> result_;
  std::thread thread_;
};

}  // namespace motley
