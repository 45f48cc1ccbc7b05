// SPDX-License-Identifier: Apache-2.0
// Formats a small aligned table for terminals and files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace motley {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  // `cells` must match the header.
  void Add(std::vector<std::string> cells);
  // Removes `dispensable` columns in this order, until lines fit into a terminal of `columns`
  // columns; 0: no limit.
  void Fit(size_t columns, const std::vector<std::string>& dispensable);
  // Aligns the first column to the left, the others to the right. Each line ends with a newline.
  std::string Format() const;

 private:
  std::vector<size_t> Widths() const;

  std::vector<std::vector<std::string>> lines_;
};

}  // namespace motley
