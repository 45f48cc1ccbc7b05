// SPDX-License-Identifier: Apache-2.0
// Flags for the number of workers.
#pragma once

#include "CLI/CLI.hpp"
#include "cli/commands/job_flags.h"

namespace motley {

enum class MostWorkers {
  kNumber,  // --workers 8
  kRange    // --workers 2..8, and --min-workers 2
};

// Adds --workers and, with ranges, --min-workers; `flags` outlives `app`.
void AddWorkers(CLI::App* app, JobFlags& flags, MostWorkers most);

}  // namespace motley
