// SPDX-License-Identifier: Apache-2.0
// `motley completion SHELL`: what makes a shell complete commands, flags and their values.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace motley {

// A script for bash, made from what `app` declares. `topics`: of motley help.
std::string BashCompletion(const CLI::App& app, const std::vector<std::string>& topics);

}  // namespace motley
