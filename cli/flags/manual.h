// SPDX-License-Identifier: Apache-2.0
// `motley help --man`: the manual page.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace motley {

// In the language of man(7), made from what `app` declares and from the topics of motley help.
std::string ManualPage(const CLI::App& app, const std::string& version);

}  // namespace motley
