// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "cli/flags/command_line.h"
#include "cli/run/tied.h"
#include "cli/terminal/exit_code.h"
#include "devices/drivers/driver_aborts.h"
#include "devices/drivers/stuck_devices.h"

namespace {

// Opens missing standard streams, because the first files that are opened would take their numbers.
void OpenMissingStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest free number is the missing one.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) abort();
  }
}

// Raises the limit of open files, because every worker is a connection. The soft limit is low for
// programs that use select(), which this one does not. Child processes inherit the new limit.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // On failure the limit stays as it was.
}

// Ends the program at once if a device is stuck. An orderly end would wait for its driver.
int EndOfProgram(int code) {
  if (!motley::AnyDeviceStuck()) return code;
  fflush(nullptr);
  _exit(code);
}

}  // namespace

int main(int argc, char** argv) {
  // Before anything changes for the program that takes this one's place.
  if (argc > 1 && std::strcmp(argv[1], motley::kTiedArgument) == 0) {
    return motley::RunTied(argc, argv);
  }
  OpenMissingStreams();
  RaiseDescriptorLimit();
  signal(SIGPIPE, SIG_IGN);  // A closed peer or reader is an error value, not the end.
  signal(SIGXFSZ, SIG_IGN);  // So is a file at its size limit (ulimit -f): EFBIG.
  motley::CatchDriverAborts();
  try {
    return EndOfProgram(motley::RunCommandLine(argc, argv));
  } catch (const std::bad_alloc&) {
    // Printing this text needs no memory.
    fputs("motley: not enough memory: use fewer workers, a smaller model or less data\n", stderr);
  } catch (const std::exception& error) {
    fprintf(stderr, "motley: an exception: %s. This is a bug of motley\n", error.what());
  }
  return motley::kExitFailure;
}
