// SPDX-License-Identifier: Apache-2.0
// Workers on other machines, which `motley run --hosts` starts over ssh.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// Reads "a,b,user@c", or the lines of a file if `text` names one; # begins a comment there.
// kInvalidArgument: no host, or a name that ssh would take for a flag. kResource: unreadable file.
Result<std::vector<std::string>> ReadHosts(const std::string& text);

// The command that runs a script from its standard input on `host`. Nothing else is on the command
// line, because everybody on the machine may read that.
std::vector<std::string> SshCommand(const std::string& host);

// The script for a POSIX shell that runs `command` in `folder` with further variables
// ("NAME=value"). It ends with the exit code of the command. When its input is closed, it ends the
// command, by SIGTERM and 10 s later by SIGKILL.
std::string RemoteScript(const std::vector<std::string>& command, const std::string& folder,
                         const std::vector<std::string>& variables);

}  // namespace motley
