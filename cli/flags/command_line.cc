// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/command_line.h"

#include <unistd.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/suggest.h"
#include "cli/flags/completion.h"
#include "cli/flags/declarations.h"
#include "cli/flags/flags.h"
#include "cli/flags/help_topics.h"
#include "cli/flags/manual.h"
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
std::string EmptyValue(int argc, char** argv) {
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

// The most used flags come first in --help.
void ShowFirst(CLI::App& command, const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) command.get_option(flag)->group("Most used");
}

// Prints --help or --version.
int PrintHelp(const CLI::App& app, const CLI::ParseError& asked) {
  std::ostringstream text, nothing;
  (void)app.exit(asked, text, nothing);
  return PrintResult(WrapHelp(text.str(), TerminalColumns(STDOUT_FILENO)));
}

struct HelpFlags {
  std::vector<std::string> topic;  // Words of the topic; empty: list all topics.
  bool man = false;
  std::string shell;  // For motley completion.
};

CLI::App* AddHelp(CLI::App& app, HelpFlags& flags) {
  CLI::App* help = app.add_subcommand("help", "Explain a command or a topic");
  help->add_option("TOPIC", flags.topic, "A command, or a topic that motley help lists");
  help->add_flag("--man", flags.man, "The manual page, for man -l");
  return help;
}

CLI::App* AddCompletion(CLI::App& app, HelpFlags& flags) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Print a script that completes commands and flags in a shell");
  completion->add_option("SHELL", flags.shell, "bash, zsh or fish")->required();
  completion->footer(
      "Examples:\n"
      "  source <(motley completion bash)      also zsh, after compinit\n"
      "  motley completion fish | source");
  return completion;
}

int RunCompletion(const CLI::App& app, const std::string& shell) {
  const std::string script = Completion(app, TopicNames(), shell);
  if (!script.empty()) return PrintResult(script);
  Warn(fmt::format("no completion for '{}': there is one for bash, zsh and fish", shell));
  return kExitUsage;
}

// Runs motley help [TOPIC]. A topic is a command, which has its --help, or has a separate page.
int RunHelp(const CLI::App& app, const HelpFlags& flags) {
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
  if (const char* page = TopicPage(topic)) return PrintResult(WrapHelp(page, columns));
  const std::string close = Suggest(topic, known);
  Warn(fmt::format("no help on '{}'.{} motley help lists the topics.", topic,
                   close.empty() ? "" : fmt::format(" Did you mean {}?", close)));
  return kExitUsage;
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
  TrainFlags train_flags;
  SimulateFlags simulate_flags;
  CodesFlags codes_flags;
  DevicesFlags devices_flags;
  PlanFlags plan_flags;
  PredictFlags predict_flags;
  ProfileFlags profile_flags;
  CheckpointFlags checkpoint_flags;
  ReproduceFlags reproduce_flags;
  WorkerFlags worker_flags;
  CLI::App* train = AddTrain(app, train_flags);
  const CLI::App* simulate = AddSimulate(app, simulate_flags);
  const CLI::App* codes = AddCodes(app, codes_flags);
  const CLI::App* devices = AddDevices(app, devices_flags);
  const CLI::App* plan = AddPlan(app, plan_flags);
  const CLI::App* predict = AddPredict(app, predict_flags);
  const CLI::App* profile = AddProfile(app, profile_flags);
  const CLI::App* checkpoint = AddCheckpoint(app, checkpoint_flags);
  const CLI::App* reproduce = AddReproduce(app, reproduce_flags);
  const CLI::App* worker = AddWorker(app, worker_flags);
  ShowFirst(*train, {"--data", "--model", "--workers", "--epochs", "--out", "--remote"});
  HelpFlags help_flags;
  const CLI::App* help = AddHelp(app, help_flags);
  const CLI::App* completion = AddCompletion(app, help_flags);
  app.footer(
      "motley COMMAND --help says more, motley help lists topics.\n"
      "Exit codes: 0 all is well, 1 failure, 2 usage, 3 not found, 4 unavailable or too late,\n"
      "5 no permission, 6 conflict, 128 + N stopped by signal N");
  if (const std::string empty = EmptyValue(argc, argv); !empty.empty()) {
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
  if (help->parsed()) return RunHelp(app, help_flags);
  if (completion->parsed()) return RunCompletion(app, help_flags.shell);
  if (train->parsed()) return RunTrain(train_flags);
  if (simulate->parsed()) return RunSimulate(simulate_flags);
  if (codes->parsed()) return RunCodes(codes_flags);
  if (devices->parsed()) return RunDevices(devices_flags);
  if (plan->parsed()) return RunPlan(plan_flags);
  if (predict->parsed()) return RunPredict(predict_flags);
  if (profile->parsed()) return RunProfile(profile_flags);
  if (checkpoint->parsed()) return RunCheckpoint(checkpoint_flags);
  if (reproduce->parsed()) return RunReproduce(reproduce_flags);
  if (worker->parsed()) return RunWorker(worker_flags);
  Warn("no command given.\n\n" + WrapHelp(app.help(), TerminalColumns(STDERR_FILENO)));
  return kExitUsage;
}

}  // namespace motley
