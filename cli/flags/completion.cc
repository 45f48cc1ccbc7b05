// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/completion.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/flags/declarations.h"
#include "fmt/core.h"
#include "fmt/ranges.h"

namespace motley {
namespace {

// The scripts for bash and zsh differ at their beginning and end. In between both set the same
// variables to the words that may come next.
constexpr std::string_view kBashHead =
    R"(# bash completion of motley; made by: motley completion bash
_motley() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word i
  # Bash takes --flag=value apart.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  local names= flags= values= files= folders= other=
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case "$command:$word" in
)";

constexpr std::string_view kBashTail = R"(  esac
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
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
  fi
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -F _motley motley
)";

constexpr std::string_view kZshHead = R"(#compdef motley
# zsh completion of motley; made by: motley completion zsh
_motley() {
  local cur=${words[CURRENT]} prev=${words[CURRENT-1]} command= word i
  if [[ $cur == --*=* ]]; then
    prev=${cur%%=*} cur=${cur#*=}
    compset -P '*='
  fi
  local names= flags= values= files= folders= other=
  for ((i = 2; i < CURRENT; i++)); do
    word=${words[i]}
    case "$command:$word" in
)";

constexpr std::string_view kZshTail = R"(  esac
  if [[ -n $folders ]]; then
    _files -/
  elif [[ -n $files ]]; then
    _files
  elif [[ -n $other ]]; then
    return 1
  elif [[ -n $values ]]; then
    # More follows what ends with a colon.
    local -a all=(${=values})
    compadd -S '' -- ${(M)all:#*:}
    compadd -- ${all:#*:}
  elif [[ $cur == -* ]]; then
    compadd -- ${=flags}
  else
    compadd -- ${=names}
  fi
}
# As a file in fpath it is called at once; sourced, it is declared.
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _motley "$@"
else
  compdef _motley motley
fi
)";

constexpr std::string_view kFishHead =
    R"(# fish completion of motley; made by: motley completion fish
# Succeeds if this is the command on the line so far.
function __motley_at
  set -l command ''
  for word in (commandline -opc)
    switch "$command:$word"
)";

constexpr std::string_view kFishTail = R"(    end
  end
  test "$command" = "$argv"
end
complete -c motley -f
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

// Sets the possible values of an option.
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

// A command as all scripts show it.
struct Node {
  std::string path, above;  // "checkpoint list", "checkpoint"
  const CLI::App* app = nullptr;
  std::vector<std::string> names;  // Sub-commands, and possible words for an argument.
  bool folder = false;             // An argument is a folder.
};

Node NodeOf(const std::string& path, const CLI::App& app) {
  const size_t blank = path.rfind(' ');
  Node node{path, blank == std::string::npos ? "" : path.substr(0, blank), &app,
            CommandsBelow(app)};
  for (const CLI::Option* option : app.get_options()) {
    if (!NamesOf(*option).empty()) continue;
    const std::vector<std::string> choices = ChoicesIn(option->get_description());
    node.names.insert(node.names.end(), choices.begin(), choices.end());
    node.folder = node.folder || ValueOf(*option) == ValueKind::kFolder;
  }
  return node;
}

// All commands; the program itself comes first.
std::vector<Node> NodesOf(const CLI::App& app, const std::vector<std::string>& topics) {
  std::vector<Node> nodes = {NodeOf("", app)};
  for (const DeclaredCommand& command : DeclaredCommands(app)) {
    Node node = NodeOf(command.path, *command.app);
    if (command.path == "help") {
      node.names = CommandsBelow(app);
      node.names.insert(node.names.end(), topics.begin(), topics.end());
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// One branch of the second `case` in bash and zsh: the words that may follow a command.
std::string Branch(const Node& node) {
  std::vector<std::string> flags;
  std::string of_values;
  for (const CLI::Option* option : node.app->get_options()) {
    const std::vector<std::string> names = NamesOf(*option);
    flags.insert(flags.end(), names.begin(), names.end());
    if (names.empty() || ValueOf(*option) == ValueKind::kNone) continue;
    of_values += fmt::format("        {}) {} ;;\n", fmt::join(names, "|"), Setting(*option));
  }
  std::string text = fmt::format("    '{}')\n      flags='{}'\n", node.path, fmt::join(flags, " "));
  if (!node.names.empty()) text += fmt::format("      names='{}'\n", fmt::join(node.names, " "));
  if (!of_values.empty()) text += fmt::format("      case \"$prev\" in\n{}      esac\n", of_values);
  if (node.folder) text += "      [[ $prev != -* && $cur != -* ]] && folders=1\n";
  return text + "      ;;\n";
}

std::string BashOrZsh(const std::vector<Node>& nodes, std::string_view head,
                      std::string_view tail) {
  std::string found, branches;
  for (const Node& node : nodes) {
    branches += Branch(node);
    if (node.path.empty()) continue;
    found += fmt::format("      '{}:{}') command='{}' ;;\n", node.above, node.app->get_name(),
                         node.path);
  }
  return fmt::format("{}{}    esac\n  done\n  case \"$command\" in\n{}{}", head, found, branches,
                     tail);
}

// fish shows a description beside a flag: the first sentence, on one line.
std::string FishText(std::string_view text) {
  std::string out;
  text = text.substr(0, std::min(text.find_first_of("\n;"), text.find(". ")));
  if (text.ends_with(':')) text.remove_suffix(1);
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string FishFlag(const Node& node, const CLI::Option& option) {
  std::string line = fmt::format("complete -c motley -n '__motley_at {}'", node.path);
  for (const std::string& name : option.get_lnames()) line += " -l " + name;
  for (const std::string& name : option.get_snames()) line += " -s " + name;
  const std::vector<std::string> choices = ChoicesIn(option.get_description());
  switch (ValueOf(option)) {
    case ValueKind::kNone: break;
    case ValueKind::kFile: line += " -r -F"; break;
    case ValueKind::kFolder: line += " -x -a '(__fish_complete_directories)'"; break;
    case ValueKind::kOther: line += fmt::format(" -x -a '{}'", fmt::join(choices, " ")); break;
  }
  return fmt::format("{} -d '{}'\n", line, FishText(option.get_description()));
}

std::string Fish(const std::vector<Node>& nodes) {
  std::string found, lines;
  for (const Node& node : nodes) {
    const std::string at = fmt::format("complete -c motley -n '__motley_at {}' -a", node.path);
    if (!node.path.empty()) {
      found += fmt::format("      case '{}:{}'\n        set command '{}'\n", node.above,
                           node.app->get_name(), node.path);
      lines += fmt::format("complete -c motley -n '__motley_at {}' -a {} -d '{}'\n", node.above,
                           node.app->get_name(), FishText(node.app->get_description()));
    }
    const std::vector<std::string> below = CommandsBelow(*node.app);
    if (node.folder) lines += at + " '(__fish_complete_directories)'\n";
    if (!node.names.empty() && node.names != below) {
      lines += fmt::format("{} '{}'\n", at, fmt::join(node.names, " "));
    }
    for (const CLI::Option* option : node.app->get_options()) {
      if (!NamesOf(*option).empty()) lines += FishFlag(node, *option);
    }
  }
  return fmt::format("{}{}{}{}", kFishHead, found, kFishTail, lines);
}

}  // namespace

std::string Completion(const CLI::App& app, const std::vector<std::string>& topics,
                       const std::string& shell) {
  const std::vector<Node> nodes = NodesOf(app, topics);
  if (shell == "bash") return BashOrZsh(nodes, kBashHead, kBashTail);
  if (shell == "zsh") return BashOrZsh(nodes, kZshHead, kZshTail);
  return shell == "fish" ? Fish(nodes) : "";
}

}  // namespace motley
