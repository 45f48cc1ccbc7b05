// SPDX-License-Identifier: Apache-2.0
// A small aligned table for terminals and files alike.
#pragma once

#include <string>
#include <vector>

namespace motley {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  // As many cells as the header has.
  void Add(std::vector<std::string> cells);
  // First column to the left, the others to the right; each line ends with a newline.
  std::string Format() const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace motley
