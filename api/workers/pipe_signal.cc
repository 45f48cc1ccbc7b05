// SPDX-License-Identifier: Apache-2.0
#include "api/workers/pipe_signal.h"

#include <time.h>

namespace motley {
namespace {

sigset_t PipeAlone() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

PipeSignalGuard::PipeSignalGuard() {
  sigset_t pending;
  sigpending(&pending);
  pending_before_ = sigismember(&pending, SIGPIPE) == 1;
  const sigset_t pipe = PipeAlone();
  pthread_sigmask(SIG_BLOCK, &pipe, &before_);
}

PipeSignalGuard::~PipeSignalGuard() {
  const sigset_t pipe = PipeAlone();
  const timespec now{};
  if (!pending_before_) sigtimedwait(&pipe, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace motley
