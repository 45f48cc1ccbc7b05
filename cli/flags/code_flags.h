// SPDX-License-Identifier: Apache-2.0
// What several commands share about codes, and about where the vector is and how it travels.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace motley {

struct JobFlags;

// The help of --code. `coded_only`: without codes that have no fixed rows.
std::string CodeList(bool coded_only);
std::string WireHelp();
CLI::Option* AddParts(CLI::App* app, uint32_t& parts);
CLI::Option* AddFollowers(CLI::App* app, const std::function<void(uint32_t)>& take);
// --reduce, --followers and --wire of a job.
void AddVectorFlags(CLI::App* command, JobFlags& job);

}  // namespace motley
