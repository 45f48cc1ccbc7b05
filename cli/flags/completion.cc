// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/completion.h"

#include <string_view>

#include "CLI/CLI.hpp"
#include "cli/flags/declarations.h"
#include "fmt/core.h"
#include "fmt/ranges.h"

namespace motley {
namespace {

constexpr std::string_view kHead = R"(# bash completion of motley; made by: motley completion bash
_motley() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word i
  # Bash takes --flag=value apart.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  local words= flags= values= files= folders= other=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case "$command:$word" in
)";

constexpr std::string_view kTail = R"(  esac
  COMPREPLY=()
  if [[ $folders ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
  elif [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ $other ]]; then
    return
  elif [[ $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _motley motley
)";

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

std::vector<std::string> CommandsBelow(const CLI::App& app) {
  std::vector<std::string> names;
  const auto shown = [](const CLI::App* sub) { return !sub->get_group().empty(); };
  for (const CLI::App* sub : app.get_subcommands(shown)) names.push_back(sub->get_name());
  return names;
}

// What is set where such a value is asked for.
std::string Setting(const CLI::Option& option) {
  switch (ValueOf(option)) {
    case ValueKind::kFolder: return "folders=1";
    case ValueKind::kFile: return "files=1";
    default: break;
  }
  const std::vector<std::string> choices = ChoicesIn(option.get_description());
  if (choices.empty()) return "other=1";
  return fmt::format("values='{}'", fmt::join(choices, " "));
}

// One branch of the script's second `case`: what may stand after this command.
std::string Branch(const std::string& path, const CLI::App& app,
                   const std::vector<std::string>& arguments) {
  std::vector<std::string> flags, words = CommandsBelow(app);
  std::string of_values, of_arguments;
  words.insert(words.end(), arguments.begin(), arguments.end());
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> names = NamesOf(*option);
    flags.insert(flags.end(), names.begin(), names.end());
    if (names.empty()) {
      const std::vector<std::string> choices = ChoicesIn(option->get_description());
      words.insert(words.end(), choices.begin(), choices.end());
      if (ValueOf(*option) == ValueKind::kFolder) {
        of_arguments = "      [[ $prev != -* && $cur != -* ]] && folders=1\n";
      }
    } else if (ValueOf(*option) != ValueKind::kNone) {
      of_values += fmt::format("        {}) {} ;;\n", fmt::join(names, "|"), Setting(*option));
    }
  }
  std::string text = fmt::format("    '{}')\n      flags='{}'\n", path, fmt::join(flags, " "));
  if (!words.empty()) text += fmt::format("      words='{}'\n", fmt::join(words, " "));
  if (!of_values.empty()) text += fmt::format("      case \"$prev\" in\n{}      esac\n", of_values);
  return text + of_arguments + "      ;;\n";
}

}  // namespace

std::string BashCompletion(const CLI::App& app, const std::vector<std::string>& topics) {
  std::string found, branches = Branch("", app, {});
  for (const DeclaredCommand& command : DeclaredCommands(app)) {
    const size_t blank = command.path.rfind(' ');
    const std::string above = blank == std::string::npos ? "" : command.path.substr(0, blank);
    found += fmt::format("      '{}:{}') command='{}' ;;\n", above, command.app->get_name(),
                         command.path);
    std::vector<std::string> arguments;
    if (command.path == "help") {
      arguments = CommandsBelow(app);
      arguments.insert(arguments.end(), topics.begin(), topics.end());
    }
    if (command.path == "completion") arguments = {"bash"};
    branches += Branch(command.path, *command.app, arguments);
  }
  return fmt::format("{}{}    esac\n  done\n  case \"$command\" in\n{}{}", kHead, found, branches,
                     kTail);
}

}  // namespace motley
