// SPDX-License-Identifier: Apache-2.0
// `motley completion SHELL` writes a script by which a shell completes commands, flags and their
// values.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace motley {

// A script for bash, zsh or fish, generated from the declarations in `app`; empty for another
// shell. `topics` are those of motley help.
std::string Completion(const CLI::App& app, const std::vector<std::string>& topics,
                       const std::string& shell);

}  // namespace motley
