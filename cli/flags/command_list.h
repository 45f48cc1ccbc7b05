// SPDX-License-Identifier: Apache-2.0
// The list of commands. Dispatch, help, completion and the manual page follow from it.
#pragma once

#include <functional>
#include <vector>

namespace CLI {
class App;
}

namespace motley {

// A command that is declared to CLI11.
struct Command {
  const CLI::App* app;
  std::function<int()> run;  // Runs it with the parsed flags. Returns the program's exit code.
};

// Declares all commands, in the order of --help.
std::vector<Command> DeclareCommands(CLI::App& app);

}  // namespace motley
