// SPDX-License-Identifier: Apache-2.0
// Reads the command line and runs the sub-command in it.
#pragma once

namespace motley {

// Returns the exit code of the program.
int RunCommandLine(int argc, char** argv);

}  // namespace motley
