// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command_line.h"

namespace {

// Without this, the first files opened would take the places of the missing standard streams.
void OpenMissingStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest free number is the one that is missing.
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) abort();
  }
}

}  // namespace

int main(int argc, char** argv) {
  OpenMissingStreams();
  signal(SIGPIPE, SIG_IGN);  // A closed peer or reader is an error value, not the end.
  return motley::RunCommandLine(argc, argv);
}
