// SPDX-License-Identifier: Apache-2.0
#include "data/tables/label_column.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

#include "base/suggest.h"
#include "data/files/text_scan.h"
#include "fmt/core.h"

namespace motley {
namespace {

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return lower;
}

// The columns with a usual name for labels. In a table of three or more columns that has `x`, `y`
// is a coordinate and not a label.
std::vector<size_t> UsualLabels(std::span<const std::string_view> columns) {
  std::vector<std::string> names;
  for (const std::string_view column : columns) names.push_back(LowerCase(column));
  const bool coordinates =
      names.size() > 2 && std::find(names.begin(), names.end(), "x") != names.end();
  std::vector<size_t> found;
  for (size_t column = 0; column < names.size(); ++column) {
    const std::string& name = names[column];
    const bool usual = name == "label" || name == "target" || name == "class";
    if (usual || (name == "y" && !coordinates)) found.push_back(column);
  }
  return found;
}

}  // namespace

Result<size_t> LabelColumn(std::string_view label, std::span<const std::string_view> columns,
                           bool named) {
  if (label.empty()) {
    const std::vector<size_t> usual = named ? UsualLabels(columns) : std::vector<size_t>();
    return usual.size() == 1 ? usual.front() : columns.size() - 1;
  }
  const auto found = std::find(columns.begin(), columns.end(), label);
  if (named && found != columns.end()) return static_cast<size_t>(found - columns.begin());
  size_t index = 0;
  const char* end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data(), end, index);
  if (error == std::errc() && stop == end && index < columns.size()) return index;
  const std::string numbers = fmt::format("a number from 0 to {}", columns.size() - 1);
  if (!named) {
    return Status::NotFound(
        fmt::format("no label column {}; the file has no line of column names, "
                    "so give {}",
                    Quoted(label), numbers));
  }
  return Status::NotFound(fmt::format("no label column {}; give {} or a name{}", Quoted(label),
                                      numbers, DidYouMean(label, columns)));
}

std::string LabelNote(std::string_view path, std::span<const std::string_view> names,
                      size_t chosen) {
  if (chosen + 1 != names.size()) {
    return fmt::format(
        "column {} of {} is taken for the label because of its name; to change it, "
        "use `label`",
        Quoted(names[chosen]), path);
  }
  const std::vector<size_t> usual = UsualLabels(names);
  if (usual.size() < 2 || usual.back() + 1 == names.size()) return "";
  return fmt::format(
      "{} has {} columns with names of a label; the last column, {}, is taken; "
      "to change it, use `label`",
      path, usual.size(), Quoted(names.back()));
}

}  // namespace motley
