// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/phases.h"

#include <unistd.h>

#include <cstdio>

#include "cli/terminal/terminal.h"
#include "fmt/core.h"

namespace motley {
namespace {

void Write(const std::string& text) {
  // An error here could not be shown anywhere.
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

void Phases::Begin(const std::string& what) {
  what_ = what;
  if (style_ == ProgressStyle::kLines) Write(fmt::format("motley: {}\n", what));
  Show(0);
}

void Phases::Show(double part) {
  if (style_ != ProgressStyle::kBar && style_ != ProgressStyle::kColourBar) return;
  drawn_ = true;
  std::string line = fmt::format("{}: {:.0f} %", what_, 100 * part);
  const size_t columns = TerminalColumns(STDERR_FILENO);
  if (columns > 0 && ColumnsOf(line) >= columns) line = fmt::format("{:.0f} %", 100 * part);
  Write("\r\x1b[K" + line);
}

void Phases::Finish(const std::string& how) {
  if (style_ == ProgressStyle::kLines) Write(fmt::format("motley: {}\n", how));
  Erase();
}

void Phases::Erase() {
  if (drawn_) Write("\r\x1b[K");
  drawn_ = false;
}

}  // namespace motley
