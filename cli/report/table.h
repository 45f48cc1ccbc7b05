// SPDX-License-Identifier: Apache-2.0
// A small aligned table for terminals and files alike.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace motley {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  // As many cells as the header has.
  void Add(std::vector<std::string> cells);
  // Takes columns out, in this order, until a line fits into so many columns of a terminal. 0 of
  // these: there is room for all.
  void Fit(size_t columns, const std::vector<std::string>& dispensable);
  // First column to the left, the others to the right; each line ends with a newline.
  std::string Format() const;

 private:
  std::vector<size_t> Widths() const;

  std::vector<std::vector<std::string>> lines_;
};

}  // namespace motley
