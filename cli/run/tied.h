// SPDX-License-Identifier: Apache-2.0
// A program that dies with `motley run`. Nothing may outlive a job, not even if SIGKILL ends
// `motley run`. Only a process itself can ask the kernel for that, so this program starts first and
// is then replaced by the other.
#pragma once

#include <string>
#include <vector>

namespace motley {

// The first argument of `motley` that stands for RunTied. It is not a command of users.
inline constexpr const char* kTiedArgument = "--tied-to-parent";

// The command that runs `command` tied to the calling process.
std::vector<std::string> TiedCommand(const std::vector<std::string>& command);

// Runs the command in `argv`, as TiedCommand composes it, in place of this program. Returns only on
// failure, with the exit code that shells use: 127 if there is no such program, else 126.
int RunTied(int argc, char** argv);

}  // namespace motley
