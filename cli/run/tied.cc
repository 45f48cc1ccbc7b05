// SPDX-License-Identifier: Apache-2.0
#include "cli/run/tied.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "cli/terminal/exit_code.h"
#include "fmt/core.h"

namespace motley {

std::vector<std::string> TiedCommand(const std::vector<std::string>& command) {
  // The program's own file, even if it was replaced meanwhile.
  std::vector<std::string> tied{"/proc/self/exe", kTiedArgument, std::to_string(getpid())};
  tied.insert(tied.end(), command.begin(), command.end());
  return tied;
}

int RunTied(int argc, char** argv) {
  constexpr int kNoSuchProgram = 127;
  constexpr int kCannotRun = 126;
  if (argc < 4) return kExitUsage;
  const std::string_view parent = argv[2];
  pid_t pid = 0;
  std::from_chars(parent.data(), parent.data() + parent.size(), pid);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != pid) return kExitFailure;  // It died before.
  execvp(argv[3], argv + 3);
  const int error = errno;
  const bool none = error == ENOENT;
  const bool bare = std::strchr(argv[3], '/') == nullptr;
  Warn(fmt::format("cannot run {}: {}{}", argv[3], std::strerror(error),
                   none && bare ? fmt::format(". Programs without a folder are looked for in PATH; "
                                              "in this folder it would be ./{}",
                                              argv[3])
                                : ""));
  return none ? kNoSuchProgram : kCannotRun;
}

}  // namespace motley
