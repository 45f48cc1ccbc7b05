// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/stop_signals.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "cli/terminal/keys.h"

namespace motley {
namespace {

std::atomic<motley_job*> stoppable{nullptr};
std::atomic<int> caught_signal{0};
std::atomic<int64_t> caught_at{0};  // Milliseconds.
std::atomic<bool> hears_hangup{false};
std::atomic<bool> on_terminal{false};
std::atomic<const char*> first_words{""};
std::atomic<const char*> second_words{""};

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

// Uses only functions that a handler may call. In a terminal the message begins with a line break,
// because a bar may be on the line. It does not wait for a stopped terminal or a full pipe.
void Tell(const char* text) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (poll(&out, 1, 0) <= 0) return;
  if (on_terminal && write(STDERR_FILENO, "\n", 1) < 0) return;
  // An error here could not be shown anywhere.
  for (const char* part : {"motley: ", text, "\n"}) {
    (void)!write(STDERR_FILENO, part, std::strlen(part));
  }
}

// Milliseconds within which the same signal is ignored if it arrives again. timeout(1) sends its
// signal twice: to the program, and to the group of both.
constexpr int64_t kSameSignal = 300;

int64_t Milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void OnSignal(int number) {
  const int error = errno;
  int none = 0;
  if (caught_signal.compare_exchange_strong(none, number)) {
    caught_at = Milliseconds();
    Tell(first_words);
    if (motley_job* job = stoppable.exchange(nullptr)) motley_job_stop(job);
  } else if (number != none || Milliseconds() - caught_at > kSameSignal) {
    Tell(second_words);
    Keys::Restore();
    SetHandlers(SIG_DFL);
    raise(number);  // Blocked until this handler returns.
  }
  errno = error;
}

}  // namespace

void StopSignals::Arm(motley_job* job, const char* first, const char* second) {
  stoppable = job;
  first_words = first;
  second_words = second;
  on_terminal = isatty(STDERR_FILENO) != 0;
  hears_hangup = !IgnoresHangup();  // Under nohup a job outlives its terminal.
  SetHandlers(OnSignal);
}

void StopSignals::Disarm() {
  SetHandlers(SIG_DFL);
  stoppable = nullptr;
}

int StopSignals::caught() const { return caught_signal; }

}  // namespace motley
