// SPDX-License-Identifier: Apache-2.0
#include "api/loop/job_thread.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace motley {
namespace {

constexpr double kLongest = 1e6;  // Seconds of a wait, so that sums of times do not overflow.

// While it lives, new threads of this thread block the signals that the program's threads should
// get. Those that an instruction causes stay with their thread, and SIGCHLD is the job's own.
class QuietThreads {
 public:
  QuietThreads() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int signal : {SIGCHLD, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&blocked, signal);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~QuietThreads() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  QuietThreads(const QuietThreads&) = delete;
  QuietThreads& operator=(const QuietThreads&) = delete;

 private:
  sigset_t before_;
};

// No exception leaves the thread.
Status RunCaught(const std::function<Status()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return Status::Resource("not enough memory; use fewer workers, a smaller model or less data");
  } catch (const std::exception& error) {
    return Status::Internal(fmt::format("an exception: {}. This is a bug of motley", error.what()));
  }
}

}  // namespace

JobThread::~JobThread() {
  if (thread_.joinable()) thread_.join();
}

Status JobThread::Start(std::function<Status()> run, std::function<void()> after) {
  const QuietThreads quiet;
  const auto failed = [](const std::exception& error) {
    return Status::Resource(fmt::format("no thread for the job: {}", error.what()));
  };
  try {
    thread_ = std::thread([this, run = std::move(run), after = std::move(after)] {
      Status result = RunCaught(run);
      {
        const std::lock_guard lock(mutex_);
        result_ = std::move(result);
        ended_.notify_all();
      }
      after();
    });
    started_ = true;
  } catch (const std::system_error& error) {
    return failed(error);
  } catch (const std::bad_alloc& error) {
    return failed(error);
  }
  return Status::Ok();
}

std::optional<Status> JobThread::Wait(double timeout_seconds) {
  std::unique_lock lock(mutex_);
  const auto ended = [this] { return result_.has_value(); };
  if (timeout_seconds < 0) {
    ended_.wait(lock, ended);
  } else {
    ended_.wait_for(lock, std::chrono::duration<double>(std::min(timeout_seconds, kLongest)),
                    ended);
  }
  return result_;
}

}  // namespace motley
