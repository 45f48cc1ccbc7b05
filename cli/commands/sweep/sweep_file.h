// SPDX-License-Identifier: Apache-2.0
// The file that describes a search (docs/how-to/sweep.md).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/commands/sweep/trial_search.h"

namespace motley {

struct SweepPlan {
  SearchPlan search;
  // Flags of motley train that all trials have, without dashes, with their values. The value of a
  // flag that takes none is empty.
  std::vector<std::pair<std::string, std::string>> train;
  std::vector<std::string> devices;  // One trial at a time on each; empty: the processor.
  uint32_t at_once = 0;              // Trials at a time; 0: as many as there is room for.

  // The value of a flag in `train`; "" if it is not there.
  std::string Train(std::string_view name) const;
};

// kNotFound, kDataError. Messages name the line.
Result<SweepPlan> LoadSweep(const std::string& path);
Result<SweepPlan> ParseSweep(const std::string& text, const std::string& source);

}  // namespace motley
