// SPDX-License-Identifier: Apache-2.0
// `motley completion SHELL`: what makes a shell complete commands, flags and their values.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace motley {

// A script for bash, zsh or fish, made from what `app` declares; empty for another shell. `topics`:
// of motley help.
std::string Completion(const CLI::App& app, const std::vector<std::string>& topics,
                       const std::string& shell);

}  // namespace motley
