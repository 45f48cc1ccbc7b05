// SPDX-License-Identifier: Apache-2.0
#include "cli/report/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "fmt/core.h"

namespace motley {

Table::Table(std::vector<std::string> header) { lines_.push_back(std::move(header)); }

void Table::Add(std::vector<std::string> cells) {
  MOTLEY_ASSERT(cells.size() == lines_.front().size());
  lines_.push_back(std::move(cells));
}

std::vector<size_t> Table::Widths() const {
  std::vector<size_t> widths(lines_.front().size(), 0);
  for (const auto& line : lines_) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  return widths;
}

void Table::Fit(size_t columns, const std::vector<std::string>& dispensable) {
  for (const std::string& name : dispensable) {
    const std::vector<size_t> widths = Widths();
    const size_t wide = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
    if (columns == 0 || wide <= columns) return;
    const std::vector<std::string>& header = lines_.front();
    const auto at = std::find(header.begin(), header.end(), name) - header.begin();
    MOTLEY_ASSERT(static_cast<size_t>(at) < header.size());
    for (auto& line : lines_) line.erase(line.begin() + at);
  }
}

std::string Table::Format() const {
  const std::vector<size_t> widths = Widths();
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
