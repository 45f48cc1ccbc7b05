// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <signal.h>

#include <atomic>
#include <cerrno>

namespace motley {
namespace {

std::atomic<motley_job*> stoppable{nullptr};
std::atomic<int> caught_signal{0};
std::atomic<bool> hears_hangup{false};

bool IgnoresHangup() {
  struct sigaction now {};
  sigaction(SIGHUP, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

void SetHandlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&action.sa_mask, number);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (hears_hangup) sigaction(SIGHUP, &action, nullptr);
}

void OnSignal(int number) {
  const int error = errno;
  caught_signal = number;
  SetHandlers(SIG_DFL);
  if (motley_job* job = stoppable.exchange(nullptr)) motley_job_stop(job);
  errno = error;
}

}  // namespace

void StopSignals::Arm(motley_job* job) {
  stoppable = job;
  hears_hangup = !IgnoresHangup();  // Under nohup a job outlives its terminal.
  SetHandlers(OnSignal);
}

void StopSignals::Disarm() {
  SetHandlers(SIG_DFL);
  stoppable = nullptr;
}

int StopSignals::caught() const { return caught_signal; }

}  // namespace motley
