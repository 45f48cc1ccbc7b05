// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "cli/flags/command_line.h"
#include "cli/terminal/exit_code.h"
#include "devices/drivers/driver_aborts.h"
#include "devices/drivers/stuck_devices.h"

namespace {

// Without this, the first files opened would take the places of the missing standard streams.
void OpenMissingStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest free number is the one that is missing.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) abort();
  }
}

// Every worker is a connection. The soft limit is low for programs that use select(), which this
// one does not. Child processes inherit it.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // Without it the limit stays as it was.
}

// An orderly end would wait for drivers that wait for their hardware.
int EndOfProgram(int code) {
  if (!motley::AnyDeviceStuck()) return code;
  fflush(nullptr);
  _exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  OpenMissingStreams();
  RaiseDescriptorLimit();
  signal(SIGPIPE, SIG_IGN);  // A closed peer or reader is an error value, not the end.
  signal(SIGXFSZ, SIG_IGN);  // So is a file that may grow no further (ulimit -f): EFBIG.
  motley::CatchDriverAborts();
  try {
    return EndOfProgram(motley::RunCommandLine(argc, argv));
  } catch (const std::bad_alloc&) {
    // Words that take no memory.
    fputs("motley: not enough memory: use fewer workers, a smaller model or less data\n", stderr);
  } catch (const std::exception& error) {
    fprintf(stderr, "motley: an exception: %s. This is a bug of motley\n", error.what());
  }
  return motley::kExitFailure;
}
