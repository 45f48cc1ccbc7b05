// SPDX-License-Identifier: Apache-2.0
// Standard error, written without waiting for whoever reads it: a pipe that nobody empties or a
// terminal that was stopped with Ctrl-S must not stop a cluster. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace motley {

// Writes `text`, or what there is room for. The first time that there is none, it waits 0.2 s for a
// slow reader. What was left out is counted, and told with the next text that finds room.
void WriteToErrorStream(std::string_view text);

// "2026-11-24 01:44:03.120 ": what lines begin with where somebody wants to know when.
std::string TimeStamp();

}  // namespace motley
