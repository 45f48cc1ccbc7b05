// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/keys.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

namespace motley {
namespace {

constexpr int kTickMs = 500;
constexpr int kMostTakingMs = 1000;

termios as_before{};                     // Written before the handler is installed.
std::atomic<bool> changed{false};        // The terminal's settings differ from as_before.
std::atomic<bool> released{true};        // The thread must not take the keys.
std::atomic<bool> taking{false};         // The thread is taking them.
std::atomic<uint32_t> continuations{0};  // Continuations after Ctrl-Z.

// A program in the background must leave the terminal alone.
bool InForeground() { return tcgetpgrp(STDIN_FILENO) == getpgrp(); }

// Runs on a thread that blocks all signals, so that the kernel does not stop the program if it asks
// from the background. Restore() looks at both flags in the opposite order, so one of the two sees
// the other.
void TakeKeys() {
  taking = true;
  if (!released && !changed && InForeground()) {
    termios keys = as_before;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    changed = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
  }
  taking = false;
}

void OnTerminalStop(int number);

void SetStopHandler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTSTP, &action, nullptr);
}

void OnTerminalStop(int number) {
  const int error = errno;
  Keys::Restore();
  SetStopHandler(SIG_DFL);
  raise(number);  // The signal is blocked in its handler; unblocking it stops the program here.
  sigset_t only, before;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  SetStopHandler(OnTerminalStop);
  released = false;
  ++continuations;
  errno = error;
}

bool IgnoresStop() {
  struct sigaction now {};
  sigaction(SIGTSTP, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

}  // namespace

struct Keys::Watch {
  Calls calls;
  std::array<int, 2> end{-1, -1};  // A pipe; closing it ends the thread.
  std::thread thread;

  void Run() {
    uint32_t continued = continuations;
    for (bool open = true;;) {
      TakeKeys();
      std::array<pollfd, 2> waits = {pollfd{end[0], POLLIN, 0}, pollfd{STDIN_FILENO, POLLIN, 0}};
      // If the terminal is gone or belongs to another program, there are only ticks.
      const nfds_t count = open && changed ? 2 : 1;
      const int ready = poll(waits.data(), count, kTickMs);
      if (waits[0].revents != 0) return;
      if (const uint32_t now = continuations; std::exchange(continued, now) != now) {
        calls.continued();
      }
      if (ready == 0) calls.tick();
      if (count < 2 || waits[1].revents == 0 || !InForeground()) continue;
      char key = 0;
      const ssize_t got = read(STDIN_FILENO, &key, 1);
      if (got == 1) calls.pressed(key);
      open = got == 1 || (got < 0 && (errno == EINTR || errno == EAGAIN));
    }
  }
};

Keys::Keys(std::unique_ptr<Watch> watch) : watch_(std::move(watch)) {}

std::unique_ptr<Keys> Keys::Listen(Calls calls) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return nullptr;
  if (tcgetattr(STDIN_FILENO, &as_before) != 0) return nullptr;
  auto watch = std::make_unique<Watch>();
  watch->calls = std::move(calls);
  if (pipe2(watch->end.data(), O_CLOEXEC) != 0) return nullptr;
  released = false;
  if (!IgnoresStop()) SetStopHandler(OnTerminalStop);
  // The new thread inherits this mask. Only the main thread handles signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    watch->thread = std::thread([watch = watch.get()] { watch->Run(); });
  } catch (const std::system_error&) {
    // Without keys the job goes on.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::unique_ptr<Keys>(new Keys(std::move(watch)));
}

Keys::~Keys() {
  close(watch_->end[1]);
  if (watch_->thread.joinable()) watch_->thread.join();
  close(watch_->end[0]);
  if (!IgnoresStop()) SetStopHandler(SIG_DFL);
  Restore();
}

void Keys::Restore() {
  released = true;
  // Otherwise the thread could take the keys after they were given back.
  for (int ms = 0; taking && ms < kMostTakingMs; ++ms) poll(nullptr, 0, 1);
  if (changed.exchange(false)) tcsetattr(STDIN_FILENO, TCSANOW, &as_before);
}

}  // namespace motley
