// SPDX-License-Identifier: Apache-2.0
// Writes the manual page, for `motley help --man`.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace motley {

// The page in the language of man(7), generated from the declarations in `app` and the topics of
// motley help.
std::string ManualPage(const CLI::App& app, const std::string& version);

}  // namespace motley
