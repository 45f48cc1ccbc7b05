// SPDX-License-Identifier: Apache-2.0
// The trials of a sweep as commands of motley train, and the files that they write. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/sweep/sweep_file.h"
#include "cli/commands/sweep/trial_search.h"

namespace motley {

// How many trials run at a time: one for each device, or as many as there are cores for.
uint32_t TrialsAtOnce(const SweepPlan& plan, uint32_t cores);

// All flags that the trained model depends on, with dashes.
std::vector<std::string> FlagsOfTrial(const SweepPlan& plan, const TrialValues& values,
                                      uint32_t epochs);

// A command as it is typed, quoted for a shell where that is needed.
std::string ShownCommand(const std::vector<std::string>& words);

// "trial-0012.safetensors", "trial-0012.checkpoint"
std::string ModelName(uint32_t trial);
std::string CheckpointName(uint32_t trial);
// True for the names of all files that trials write, also of those that they did not write to their
// ends: "trial-0012.safetensors.345.346.tmp".
bool IsTrialFile(std::string_view name);
// Only the latter.
bool IsUnfinishedTrialFile(std::string_view name);

}  // namespace motley
