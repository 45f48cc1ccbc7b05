// SPDX-License-Identifier: Apache-2.0
// Writes to standard error without waiting for its reader. A pipe that nobody reads, or a terminal
// that was stopped with Ctrl-S, must not stop a cluster. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace motley {

// Writes as much of `text` as there is room for. The first time that there is none, it waits 0.2 s
// for a slow reader. Omitted text is counted, and the next text that finds room says how much is
// missing.
void WriteToErrorStream(std::string_view text);

// The beginning of lines with a time: "2026-11-24 01:44:03.120 ".
std::string TimeStamp();

}  // namespace motley
