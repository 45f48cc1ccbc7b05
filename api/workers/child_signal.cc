// SPDX-License-Identifier: Apache-2.0
#include "api/workers/child_signal.h"

#include <signal.h>

#include <atomic>

namespace motley {
namespace {

// Holds a lock for a few instructions, once per job.
class Locked {
 public:
  Locked() {
    while (lock_.test_and_set(std::memory_order_acquire)) lock_.wait(true);
  }
  ~Locked() {
    lock_.clear(std::memory_order_release);
    lock_.notify_one();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  inline static std::atomic_flag lock_;
};

int guards = 0;  // Living guards.
struct sigaction before;

}  // namespace

ChildSignalGuard::ChildSignalGuard() {
  const Locked locked;
  if (guards++ == 0) sigaction(SIGCHLD, nullptr, &before);
}

ChildSignalGuard::~ChildSignalGuard() {
  const Locked locked;
  if (--guards > 0) return;
  struct sigaction now {};
  sigaction(SIGCHLD, nullptr, &now);
  // Any handler other than the default is the program's new one, or the loop still uses it.
  if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
    sigaction(SIGCHLD, &before, nullptr);
  }
}

}  // namespace motley
