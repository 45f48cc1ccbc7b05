// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/command_line.h"

#include <unistd.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/suggest.h"
#include "cli/flags/command_list.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/terminal.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"
#include "fmt/ranges.h"

namespace motley {
namespace {

std::string VersionText() {
  std::string text = fmt::format("motley {}\nCPU kernels:", MOTLEY_VERSION);
  for (const KernelModule& module : CpuKernelModules()) {
    text += fmt::format("\n  {}: {}", module.name,
                        module.kernels != nullptr ? "usable" : module.reason);
  }
  return text;
}

std::vector<std::string> Names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const auto shown = [](const CLI::App* sub) { return !sub->get_group().empty(); };
  for (const CLI::App* sub : app.get_subcommands(shown)) names.push_back(sub->get_name());
  return names;
}

// An error about the first argument that `app` did not understand; empty: it understood all.
std::string UnknownArgument(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) return "";
  if (app.get_prefix_command()) return "";  // A program and its arguments.
  const std::string word = unknown.front().substr(0, unknown.front().find('='));
  const char* kind = word.starts_with("-") ? "flag" : "argument";
  if (app.get_parent() == nullptr && kind[0] == 'a') kind = "command";
  const std::string close = Suggest(word, Names(app));
  const std::string command =
      app.get_parent() == nullptr ? "motley" : fmt::format("motley {}", app.get_name());
  return fmt::format("unknown {} '{}'.{} See {} --help.", kind, word,
                     close.empty() ? "" : fmt::format(" Did you mean {}?", close), command);
}

// An error about a command that lacks its sub-command; empty: that is not the problem.
std::string MissingCommand(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) {
    if (sub->get_require_subcommand_min() == 0 || !sub->get_subcommands().empty()) continue;
    std::vector<std::string> names;
    for (const CLI::App* each : sub->get_subcommands({})) names.push_back(each->get_name());
    return fmt::format("motley {} needs one of {}: see motley {} --help.", sub->get_name(),
                       fmt::join(names, ", "), sub->get_name());
  }
  return "";
}

// CLI11's own text where it is clear.
std::string Explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::string missing = MissingCommand(app);
  if (!missing.empty()) return missing;
  const std::string text = error.what();
  const size_t excludes = text.find(" excludes ");
  if (excludes != std::string::npos) {
    return fmt::format("{} and {} cannot both be given: leave one of them out.",
                       text.substr(0, excludes), text.substr(excludes + 10));
  }
  const size_t needs = text.find(" requires ");
  if (needs != std::string::npos) {
    return fmt::format("{} means nothing without {}: give that too, or leave it out.",
                       text.substr(0, needs), text.substr(needs + 10));
  }
  const size_t twice = text.find(": At Most 1 required");
  if (twice != std::string::npos) return text.substr(0, twice) + " is given more than once.";
  return text;
}

// An error about the first argument without a value: one like --out=, to which CLI11 would give the
// next argument, or one before an empty argument, such as an unset variable. Empty: there is none.
std::string EmptyValue(const CLI::App& app, int argc, char** argv) {
  const auto runs_another_program = [argc, argv](const CLI::App* command) {
    return argc > 1 && command->get_name() == argv[1] && command->get_prefix_command();
  };
  if (!app.get_subcommands(runs_another_program).empty()) return "";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (!word.starts_with("--")) continue;
    const bool ends = word.find('=') + 1 == word.size();
    if (!ends && (i + 1 == argc || *argv[i + 1] != '\0')) continue;
    return fmt::format("{} has no value: give it one, or leave it out.",
                       word.substr(0, word.size() - (ends ? 1 : 0)));
  }
  return "";
}

// Prints --help or --version.
int PrintHelp(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream text, nothing;
  (void)app.exit(asked, text, nothing);
  return PrintResult(WrapHelp(text.str(), TerminalColumns(STDOUT_FILENO)));
}

int UsageError(const CLI::App& app, const std::string& what) {
  std::string text = UnknownArgument(app);
  for (const CLI::App* sub : app.get_subcommands()) {
    if (text.empty()) text = UnknownArgument(*sub);
  }
  Warn(text.empty() ? what : text);
  return kExitUsage;
}

}  // namespace

int RunCommandLine(int argc, char** argv) {
  CLI::App app("Trains one model on machines that are not alike, with gradient coding.", "motley");
  app.set_version_flag("--version", VersionText);
  app.require_subcommand(0, 1);
  const std::vector<Command> commands = DeclareCommands(app);
  app.footer(
      "motley COMMAND --help says more, motley help lists topics.\n"
      "Exit codes: 0 all is well, 1 failure, 2 usage, 3 not found, 4 unavailable or too late,\n"
      "5 no permission, 6 conflict, 128 + N stopped by signal N");
  if (const std::string empty = EmptyValue(app, argc, argv); !empty.empty()) {
    Warn(empty);
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Print --help and --version, unless the command is misspelt.
    const bool misspelt = !app.remaining().empty() && app.get_subcommands().empty();
    if (error.get_exit_code() == 0 && !misspelt) return PrintHelp(app, error);
    return UsageError(app, Explain(app, error));
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  Warn("no command given.\n\n" + WrapHelp(app.help(), TerminalColumns(STDERR_FILENO)));
  return kExitUsage;
}

}  // namespace motley
