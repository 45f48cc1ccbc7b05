// SPDX-License-Identifier: Apache-2.0
// What several commands share about --code and --wire.
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace motley {

// The help of --code. `coded_only`: without codes that have no fixed rows.
std::string CodeList(bool coded_only);
std::string WireHelp();
CLI::Option* AddParts(CLI::App* app, uint32_t& parts);

}  // namespace motley
