// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/manual.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/flags/declarations.h"
#include "cli/flags/help_topics.h"
#include "fmt/core.h"

namespace motley {
namespace {

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// Escapes text so that no character is special for roff.
std::string Plain(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

// A block of lines that are not filled.
std::string Block(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return fmt::format(".nf\n{}\n.fi\n", Plain(text));
}

std::string Title(const CLI::Option& option) {
  std::string text;
  const auto add = [&](const std::string& name) {
    text += fmt::format("{}\\fB{}\\fR", text.empty() ? "" : ", ", Plain(name));
  };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (text.empty()) return fmt::format("\\fI{}\\fR", Plain(option.get_name()));
  if (ValueOf(option) == ValueKind::kNone) return text;
  text += fmt::format(" \\fI{}\\fR", Plain(option.get_type_name()));
  const std::string by_default = option.get_default_str();
  return by_default.empty() ? text : fmt::format("{} (default: {})", text, Plain(by_default));
}

std::string Options(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    text += fmt::format(".TP\n{}\n{}\n", Title(*option), Plain(option->get_description()));
  }
  return text;
}

std::string Section(const DeclaredCommand& command) {
  std::string text = fmt::format(".SS motley {}\n{}.\n", Plain(command.path),
                                 Plain(command.app->get_description()));
  text += Options(*command.app);
  // Begins a new paragraph after the last flag.
  if (const std::string footer = command.app->get_footer(); !footer.empty()) {
    text += ".PP\n" + Block(footer);
  }
  return text;
}

}  // namespace

std::string ManualPage(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".\\\" Made by: motley help --man\n.TH MOTLEY 1 \"\" \"motley {}\" \"User Commands\"\n"
      ".SH NAME\nmotley \\- train one model on machines that are not alike\n"
      ".SH SYNOPSIS\n\\fBmotley\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\n{}\nEach command has a \\fB\\-\\-help\\fR of its own, in which the flags "
      "are in groups.\n{}.SH COMMANDS\n",
      Plain(version), Plain(app.get_description()), Options(app));
  for (const DeclaredCommand& command : DeclaredCommands(app)) text += Section(command);
  for (const std::string& topic : TopicNames()) {
    text += fmt::format(".SH {}\n{}", Plain(Upper(topic)), Block(TopicPage(topic)));
  }
  return text;
}

}  // namespace motley
