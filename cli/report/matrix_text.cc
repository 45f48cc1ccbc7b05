// SPDX-License-Identifier: Apache-2.0
#include "cli/report/matrix_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "cli/report/table.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr size_t kWidest = 120;
constexpr size_t kMostRows = 32;

std::string MoreRows(size_t rows) {
  if (rows <= kMostRows) return "";
  return fmt::format("and {} more workers; --json lists every one\n", rows - kMostRows);
}

// Neighbouring partitions [begin, end) that are equal in all rows.
struct Columns {
  PartitionId begin = 0;
  PartitionId end = 0;
};

std::string Number(Complex value) {
  if (value.imag() == 0) return fmt::format("{:.4g}", value.real());
  return fmt::format("{:.3f}{:+.3f}i", value.real(), value.imag());
}

std::string Name(const Columns& columns) {
  if (columns.end - columns.begin == 1) return fmt::format("{}", columns.begin);
  return fmt::format("{}-{}", columns.begin, columns.end - 1);
}

std::vector<Columns> GroupColumns(const CodeForm& form) {
  // The rows and coefficients of each column.
  std::vector<std::vector<std::pair<uint32_t, Complex>>> entries(form.partitions);
  for (uint32_t row = 0; row < form.rows.size(); ++row) {
    for (const CodeEntry& entry : form.rows[row]) {
      entries[entry.partition].emplace_back(row, entry.coefficient);
    }
  }
  std::vector<Columns> groups;
  for (PartitionId p = 0; p < form.partitions; ++p) {
    if (p > 0 && entries[p] == entries[p - 1]) {
      groups.back().end = p + 1;
    } else {
      groups.push_back({p, p + 1});
    }
  }
  return groups;
}

std::map<PartitionId, Complex> RowByPartition(const std::vector<CodeEntry>& row) {
  std::map<PartitionId, Complex> coefficients;
  for (const CodeEntry& entry : row) coefficients[entry.partition] = entry.coefficient;
  return coefficients;
}

std::string Sparse(const CodeForm& form, const std::vector<Columns>& groups) {
  std::string text;
  for (size_t row = 0; row < std::min(form.rows.size(), kMostRows); ++row) {
    text += fmt::format("worker {}:", row);
    const auto coefficients = RowByPartition(form.rows[row]);
    for (const Columns& group : groups) {
      const auto entry = coefficients.find(group.begin);
      if (entry == coefficients.end()) continue;
      text += fmt::format("  [{}] {}", Name(group), Number(entry->second));
    }
    text += '\n';
  }
  return text + MoreRows(form.rows.size());
}

// Lists the messages of each worker in order.
std::string FormatLists(const CodeForm& form) {
  std::string text;
  for (size_t worker = 0; worker < std::min(form.lists.size(), kMostRows); ++worker) {
    text += fmt::format("worker {}:", worker);
    for (const RowId row : form.lists[worker]) {
      const auto& entries = form.rows[row];
      text +=
          fmt::format("  [{}]", Name({entries.front().partition, entries.back().partition + 1}));
    }
    text += '\n';
  }
  return text + MoreRows(form.lists.size());
}

}  // namespace

std::string FormatMatrix(const CodeForm& form) {
  if (!form.lists.empty()) return FormatLists(form);
  const std::vector<Columns> groups = GroupColumns(form);
  std::vector<std::string> header = {"worker"};
  for (const Columns& group : groups) header.push_back(Name(group));
  Table table(header);
  for (size_t row = 0; row < std::min(form.rows.size(), kMostRows); ++row) {
    std::vector<std::string> cells = {fmt::format("{}", row)};
    const auto coefficients = RowByPartition(form.rows[row]);
    for (const Columns& group : groups) {
      const auto entry = coefficients.find(group.begin);
      cells.push_back(entry == coefficients.end() ? "." : Number(entry->second));
    }
    table.Add(std::move(cells));
  }
  const std::string text = table.Format() + MoreRows(form.rows.size());
  return text.find('\n') <= kWidest ? text : Sparse(form, groups);
}

}  // namespace motley
