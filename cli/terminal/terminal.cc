// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.h"

#include <sys/ioctl.h>

#include <algorithm>

namespace motley {
namespace {

constexpr size_t kDescriptions = 30;  // The column at which CLI11 begins descriptions.

void WrapLine(std::string_view line, size_t columns, size_t indent, std::string& out) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  out.append(line.substr(0, begin));
  size_t used = begin;
  bool first = true;  // The next word is the first of its line.
  for (size_t at = begin; at < line.size();) {
    size_t end = line.find(' ', at);
    if (end == std::string_view::npos) end = line.size();
    const std::string_view word = line.substr(at, end - at);
    const size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    const size_t gap = first ? 0 : at - (line.find_last_not_of(' ', at - 1) + 1);
    const size_t wide = ColumnsOf(word);
    if (!first && used + gap + wide > columns) {
      out += '\n';
      out.append(indent, ' ');
      used = indent;
    } else {
      out.append(gap, ' ');
      used += gap;
    }
    out += word;
    used += wide;
    first = false;
    at = next;
  }
}

template <typename Indent>
std::string WrapLines(std::string_view text, size_t columns, const Indent& indent_of) {
  if (columns == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const size_t indent = ColumnsOf(line) > columns ? indent_of(line) : 0;
    if (indent > 0 && indent < columns) {
      WrapLine(line, columns, indent, out);
    } else {
      out += line;
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

size_t TerminalColumns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t TerminalLines(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string WrapText(std::string_view text, size_t columns) {
  return WrapLines(text, columns,
                   [](std::string_view line) -> size_t { return line.starts_with(' ') ? 0 : 2; });
}

std::string WrapHelp(std::string_view text, size_t columns) {
  return WrapLines(text, columns, [columns](std::string_view line) -> size_t {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    // In a narrow terminal descriptions begin further left.
    const size_t descriptions = std::min(kDescriptions, columns / 3);
    if (begin >= kDescriptions || line.substr(begin).starts_with('-')) return descriptions;
    return begin + 2;
  });
}

}  // namespace motley
