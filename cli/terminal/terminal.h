// SPDX-License-Identifier: Apache-2.0
// Fits text into the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

// The width of the terminal `fd`; 0: not a terminal, or its width is unknown.
size_t TerminalColumns(int fd);

size_t TerminalLines(int fd);  // The height; 0 likewise.

// Columns of UTF-8 text, if each character takes one.
size_t ColumnsOf(std::string_view text);

// Breaks lines that are longer than `columns` between words, and indents the rest by two more than
// the line. Words that are longer than a line stay whole. So do lines that begin with a space,
// because they are commands to copy. 0 columns: no change.
std::string WrapText(std::string_view text, size_t columns);

// The same for the --help of a command, where descriptions continue below descriptions.
std::string WrapHelp(std::string_view text, size_t columns);

}  // namespace motley
