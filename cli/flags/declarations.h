// SPDX-License-Identifier: Apache-2.0
// Lists the commands and flags that are declared to CLI11. The manual page and the completion
// scripts are generated from them.
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

// The commands that --help shows. Each comes before its own sub-commands.
std::vector<DeclaredCommand> DeclaredCommands(const CLI::App& app);

enum class ValueKind { kNone, kFile, kFolder, kOther };  // kNone: the flag has no value.
ValueKind ValueOf(const CLI::Option& option);

// The values that a description enumerates: the names in a list ("\n  NAME: ..."), or the
// enumeration at its beginning ("sgd, momentum (of Nesterov) or adam; default: ...").
std::vector<std::string> ChoicesIn(std::string_view description);

}  // namespace motley
