// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/driver_aborts.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/assert.h"

namespace motley {

// The state of one driver. Signal handlers read it, so it has no lock and never moves.
struct DriverMark {
  std::atomic<const char*> name{nullptr};  // Null: free.
  std::atomic<bool> ended{false};
  std::atomic<bool> noticed{false};
};

namespace {

constexpr char kThreadName[] = "motley ";
constexpr unsigned kUnnoticedSeconds = 60;

std::array<DriverMark, 8> marks;
thread_local DriverMark* inside = nullptr;

DriverMark& MarkOf(const char* driver) {
  for (DriverMark& mark : marks) {
    const char* taken = nullptr;
    if (mark.name.compare_exchange_strong(taken, driver) || std::strcmp(taken, driver) == 0) {
      return mark;
    }
  }
  MOTLEY_ASSERT(!"more drivers than marks");
  return marks[0];
}

// Runs in signal handlers, like everything up to CatchDriverAborts. Null if the thread is not a
// driver's.
DriverMark* MarkOfThread() {
  if (inside != nullptr) return inside;
  char thread[16] = {};
  prctl(PR_GET_NAME, thread);
  if (std::strncmp(thread, kThreadName, sizeof(kThreadName) - 1) != 0) return nullptr;
  const char* const of = thread + sizeof(kThreadName) - 1;
  for (DriverMark& mark : marks) {
    const char* const name = mark.name;
    if (name != nullptr && std::strncmp(of, name, sizeof(thread) - sizeof(kThreadName)) == 0) {
      return &mark;
    }
  }
  return nullptr;
}

void Print(const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); }

void PrintDriver(const DriverMark& mark) {
  Print("motley: a driver of devices ended the program: ");
  Print(mark.name);
  Print(". Leave its devices out of --devices\n");
}

[[noreturn]] void StayHere(DriverMark& mark) {
  if (!mark.ended.exchange(true)) alarm(kUnnoticedSeconds);
  sigset_t all;
  sigfillset(&all);
  for (;;) sigsuspend(&all);
}

// On return, abort() ends the program. A signal sent by another process ends it at once.
void OnAbort(int number, siginfo_t* info, void*) {
  DriverMark* const mark = MarkOfThread();
  const bool own = info->si_code == SI_TKILL && info->si_pid == getpid();
  const bool first_thread = getpid() == gettid();
  const bool drivers = own && mark != nullptr && !AssertHasFailed();
  if (drivers && !first_thread) StayHere(*mark);
  if (drivers) PrintDriver(*mark);
  signal(number, SIG_DFL);
  if (!own) raise(number);
}

// Other threads may use what exit() has destroyed, so this thread cannot be stopped here.
void OnExit() {
  if (const DriverMark* const mark = MarkOfThread()) PrintDriver(*mark);
}

void OnUnnoticed(int) {
  signal(SIGABRT, SIG_DFL);
  raise(SIGABRT);
}

}  // namespace

void CatchDriverAborts() {
  struct sigaction action {};
  action.sa_sigaction = OnAbort;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGABRT, &action, nullptr);
  action = {};
  action.sa_handler = OnUnnoticed;
  sigaction(SIGALRM, &action, nullptr);
  std::atexit(OnExit);
}

Status DriverEnded(const char* driver) {
  DriverMark& mark = MarkOf(driver);
  if (!mark.ended) return Status::Ok();
  if (!mark.noticed.exchange(true)) alarm(0);
  return Status::Unavailable(fmt::format(
      "its driver '{}' called abort() (PoCL does so when the folder of its compiled kernels is "
      "full or damaged; make room there and empty it; it is POCL_CACHE_DIR, or pocl in the cache "
      "folder)",
      driver));
}

InDriver::InDriver(const char* driver) : before_(inside) { inside = &MarkOf(driver); }

InDriver::~InDriver() { inside = before_; }

StartsDriverThreads::StartsDriverThreads(const char* driver) : inside_(driver) {
  char name[sizeof(name_before_)] = {};
  std::snprintf(name, sizeof(name), "%s%s", kThreadName, driver);
  prctl(PR_GET_NAME, name_before_);
  prctl(PR_SET_NAME, name);
}

StartsDriverThreads::~StartsDriverThreads() { prctl(PR_SET_NAME, name_before_); }

}  // namespace motley
