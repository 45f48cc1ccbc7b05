// SPDX-License-Identifier: Apache-2.0
// Names of a table's columns: lists of them, and which column a name means.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace motley {

inline constexpr size_t kShownNames = 5;  // Longest list of names in a message.

// A list like "'a', 'b' and 3 more".
std::string ListOf(const std::vector<std::string>& names);
// A name as in a list of names: quoted as in CSV if it has a comma or a quote.
std::string InList(const std::string& name);
// The columns of this name, or else the one with this number from 0.
std::vector<size_t> ColumnsNamed(const std::string& name, const std::vector<std::string>& names);
// The end of a message about missing columns: ", or rename 'Size' to 'size'", or nothing. `unused`
// are names that the file has instead.
std::string Renaming(const std::vector<std::string>& missing, std::vector<std::string> unused);

}  // namespace motley
