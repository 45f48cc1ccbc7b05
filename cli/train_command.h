// SPDX-License-Identifier: Apache-2.0
// `motley train`: trains a model on local workers, one process each.
#pragma once

#include <string>

#include "cli/job_flags.h"

namespace motley {

struct TrainFlags {
  JobFlags job;
  std::string data;   // "PATH" or "PATH:test=FILE".
  std::string label;  // Column of a CSV file; empty: the last.
  double split = 0;   // Part that trains; 0: not given.
  std::string listen = "127.0.0.1:0";
  std::string out;
};

// The exit code.
int RunTrain(const TrainFlags& flags);

}  // namespace motley
