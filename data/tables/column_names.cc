// SPDX-License-Identifier: Apache-2.0
#include "data/tables/column_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/suggest.h"
#include "data/files/text_scan.h"

namespace motley {

std::string ListOf(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kShownNames); ++i) {
    shown.push_back(Quoted(names[i]));
  }
  const std::string list = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() <= kShownNames) return list;
  return fmt::format("{} and {} more", list, names.size() - kShownNames);
}

std::vector<size_t> ColumnsNamed(const std::string& name, const std::vector<std::string>& names) {
  std::vector<size_t> found;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) found.push_back(i);
  }
  for (size_t i = 0; found.empty() && i < names.size(); ++i) {
    if (std::to_string(i) == name) return {i};
  }
  return found;
}

std::string InList(const std::string& name) {
  if (name.find_first_of(",\"") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string Renaming(const std::vector<std::string>& missing, std::vector<std::string> unused) {
  std::vector<std::string> pairs;
  for (const std::string& name : missing) {
    const std::string close = Suggest(name, unused);
    if (close.empty()) continue;
    pairs.push_back(fmt::format("{} to {}", Quoted(close), Quoted(name)));
    unused.erase(std::find(unused.begin(), unused.end(), close));
  }
  if (pairs.size() > kShownNames) pairs.resize(kShownNames);
  return pairs.empty() ? "" : fmt::format(", or rename {}", fmt::join(pairs, ", "));
}

}  // namespace motley
