// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/declarations.h"

#include <algorithm>
#include <cctype>

#include "CLI/CLI.hpp"

namespace motley {
namespace {

void AddCommands(const CLI::App& app, const std::string& above, std::vector<DeclaredCommand>& all) {
  const auto shown = [](const CLI::App* sub) { return !sub->get_group().empty(); };
  for (const CLI::App* sub : app.get_subcommands(shown)) {
    all.push_back({above + sub->get_name(), sub});
    AddCommands(*sub, all.back().path + " ", all);
  }
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-';
  });
}

std::string WithoutBrackets(std::string_view text) {
  std::string out;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) out += c;
    depth -= c == ')' ? 1 : 0;
  }
  return out;
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// The words of "a, b or c"; empty: the line does not begin with such an enumeration.
std::vector<std::string> Enumeration(std::string_view line) {
  std::string text = WithoutBrackets(line);
  text.resize(std::min(text.find_first_of(";:"), text.size()));
  for (size_t at; (at = text.find(" or ")) != text.npos;) text.replace(at, 4, ",");
  if (text.ends_with(" or")) text.resize(text.size() - 3);
  std::vector<std::string> words;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string_view word = Trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word.empty()) continue;
    if (!IsWord(word)) return {};
    words.emplace_back(word);
  }
  if (words.size() < 2) words.clear();
  return words;
}

}  // namespace

std::vector<DeclaredCommand> DeclaredCommands(const CLI::App& app) {
  std::vector<DeclaredCommand> all;
  AddCommands(app, "", all);
  return all;
}

ValueKind ValueOf(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return ValueKind::kNone;
  const std::string type = option.get_type_name();
  if (type.starts_with("DIR") || option.get_name() == "DIR") return ValueKind::kFolder;
  if (type.starts_with("FILE") || type.starts_with("PATH")) return ValueKind::kFile;
  return ValueKind::kOther;
}

std::vector<std::string> ChoicesIn(std::string_view description) {
  const size_t first = std::min(description.find('\n'), description.size());
  std::vector<std::string> choices = Enumeration(description.substr(0, first));
  for (std::string_view rest = description.substr(first); !rest.empty();) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    const std::string_view name = Trimmed(line.substr(0, line.find(": ")));
    if (!line.starts_with(' ') || line.find(": ") == line.npos) continue;
    // mlp:256,norm,128 stands for all values that begin with mlp:
    const size_t colon = name.find(':');
    if (IsWord(name.substr(0, colon))) {
      choices.emplace_back(name.substr(0, colon == name.npos ? colon : colon + 1));
    }
  }
  return choices;
}

}  // namespace motley
