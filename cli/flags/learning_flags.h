// SPDX-License-Identifier: Apache-2.0
// The flags of a model and of how it learns.
#pragma once

#include <string>

#include "cli/commands/job_flags.h"
#include "cli/commands/train_command.h"

namespace CLI {
class App;
}

namespace motley {

// What is said of flags that may be left out: a simulated job learns nothing.
struct LearningHelp {
  std::string chosen;
  std::string epochs;
  bool learns = true;  // False: how it would learn changes nothing, and has no flags.
};

void AddModelFlags(CLI::App* app, JobFlags& flags, const LearningHelp& help);
// More of how it learns, and how its progress is judged.
void AddLearningFlags(CLI::App* train, TrainFlags& flags);

}  // namespace motley
