// SPDX-License-Identifier: Apache-2.0
// The commands that show what the others are: `motley help` and `motley completion`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace motley {

struct HelpFlags {
  const CLI::App* program = nullptr;  // All commands, with their flags.
  std::vector<std::string> topic;     // Words of the topic; empty: list all topics.
  bool man = false;
};

struct CompletionFlags {
  const CLI::App* program = nullptr;  // All commands, with their flags.
  std::string shell;
};

CLI::App* AddHelp(CLI::App& app, HelpFlags& flags);
// Explains a topic. A topic is a command, which has its --help, or has a separate page.
int RunHelp(const HelpFlags& flags);

CLI::App* AddCompletion(CLI::App& app, CompletionFlags& flags);
int RunCompletion(const CompletionFlags& flags);

}  // namespace motley
