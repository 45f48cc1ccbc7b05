// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include "cli/command_line.h"

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // A closed peer or reader is an error value, not the end.
  return motley::RunCommandLine(argc, argv);
}
