// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/help_command.h"

#include <unistd.h>

#include "CLI/CLI.hpp"
#include "base/suggest.h"
#include "cli/flags/completion.h"
#include "cli/flags/declarations.h"
#include "cli/flags/help_topics.h"
#include "cli/flags/manual.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/terminal.h"
#include "fmt/core.h"
#include "fmt/ranges.h"

namespace motley {

CLI::App* AddHelp(CLI::App& app, HelpFlags& flags) {
  flags.program = &app;
  CLI::App* help = app.add_subcommand("help", "Explain a command or a topic");
  help->add_option("TOPIC", flags.topic, "A command, or a topic that motley help lists");
  help->add_flag("--man", flags.man, "The manual page, for man -l");
  return help;
}

CLI::App* AddCompletion(CLI::App& app, CompletionFlags& flags) {
  flags.program = &app;
  CLI::App* completion = app.add_subcommand(
      "completion", "Print a script that completes commands and flags in a shell");
  completion->add_option("SHELL", flags.shell, "bash, zsh or fish")->required();
  completion->footer(
      "Examples:\n"
      "  source <(motley completion bash)      also zsh, after compinit\n"
      "  motley completion fish | source");
  return completion;
}

int RunCompletion(const CompletionFlags& flags) {
  const std::string script = Completion(*flags.program, TopicNames(), flags.shell);
  if (!script.empty()) return PrintResult(script);
  Warn(fmt::format("no completion for '{}': there is one for bash, zsh and fish", flags.shell));
  return kExitUsage;
}

int RunHelp(const HelpFlags& flags) {
  const CLI::App& app = *flags.program;
  const std::string topic = fmt::format("{}", fmt::join(flags.topic, " "));
  const size_t columns = TerminalColumns(STDOUT_FILENO);
  if (flags.man) return PrintResult(ManualPage(app, MOTLEY_VERSION));
  if (topic.empty()) {
    // App::help would give the help of the command that was parsed, which is `help`.
    const auto mode = CLI::AppFormatMode::Normal;
    const std::string all = app.get_formatter()->make_help(&app, app.get_name(), mode);
    return PrintResult(WrapHelp(all + "\n" + ListOfTopics(), columns));
  }
  std::vector<std::string> known = TopicNames();
  for (const DeclaredCommand& command : DeclaredCommands(app)) {
    const std::string above = "motley " + command.path.substr(0, command.path.rfind(' ') + 1);
    if (command.path == topic) {
      const std::string help = command.app->help(above.substr(0, above.size() - 1));
      return PrintResult(WrapHelp(help, columns));
    }
    known.push_back(command.path);
  }
  if (const std::string page = TopicPage(topic); !page.empty()) {
    return PrintResult(WrapHelp(page, columns));
  }
  const std::string close = Suggest(topic, known);
  Warn(fmt::format("no help on '{}'.{} motley help lists the topics.", topic,
                   close.empty() ? "" : fmt::format(" Did you mean {}?", close)));
  return kExitUsage;
}

}  // namespace motley
