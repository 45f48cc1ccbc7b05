// SPDX-License-Identifier: Apache-2.0
// Fits text into the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

// The width of the terminal that `fd` is. 0 where it is no terminal, or does not say its width.
size_t TerminalColumns(int fd);

size_t TerminalLines(int fd);  // Its height, as well.

// Columns that UTF-8 text takes when each character takes one.
size_t ColumnsOf(std::string_view text);

// Breaks lines that are longer than `columns` between words, and indents what follows by two more
// than the line. A word that is longer than a line stays whole, and so does a line that begins with
// a space: it is a command to copy. 0 columns: the text as it is.
std::string WrapText(std::string_view text, size_t columns);

// The same for a command's --help, where descriptions continue below descriptions.
std::string WrapHelp(std::string_view text, size_t columns);

}  // namespace motley
