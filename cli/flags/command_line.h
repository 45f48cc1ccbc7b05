// SPDX-License-Identifier: Apache-2.0
// Reads the command line and runs the sub-command that it names.
#pragma once

namespace motley {

// The exit code of the program.
int RunCommandLine(int argc, char** argv);

}  // namespace motley
