// SPDX-License-Identifier: Apache-2.0
// The commands and flags as they are declared to CLI11, for whatever is made from them besides
// --help: the manual page, and what completes them in a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace motley {

struct DeclaredCommand {
  std::string path;  // "train", "checkpoint list"
  const CLI::App* app = nullptr;
};

// Those that --help shows; each before its own sub-commands.
std::vector<DeclaredCommand> DeclaredCommands(const CLI::App& app);

enum class ValueKind { kNone, kFile, kFolder, kOther };  // kNone: a flag without a value.
ValueKind ValueOf(const CLI::Option& option);

// The words that a description has its reader choose from: the names of a list ("\n  NAME: ..."),
// and an enumeration that it begins with ("sgd, momentum (of Nesterov) or adam; default: ...").
std::vector<std::string> ChoicesIn(std::string_view description);

}  // namespace motley
