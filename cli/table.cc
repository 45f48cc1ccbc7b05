// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "fmt/core.h"

namespace motley {

Table::Table(std::vector<std::string> header) { lines_.push_back(std::move(header)); }

void Table::Add(std::vector<std::string> cells) {
  MOTLEY_ASSERT(cells.size() == lines_.front().size());
  lines_.push_back(std::move(cells));
}

std::string Table::Format() const {
  std::vector<size_t> widths(lines_.front().size(), 0);
  for (const auto& line : lines_) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines_) {
    std::string out = fmt::format("{:<{}}", line[0], widths[0]);
    for (size_t i = 1; i < line.size(); ++i) out += fmt::format("  {:>{}}", line[i], widths[i]);
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  }
  return text;
}

}  // namespace motley
