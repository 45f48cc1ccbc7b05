// SPDX-License-Identifier: Apache-2.0
// Flags for a model and its learning.
#pragma once

#include <string>

#include "cli/commands/job_flags.h"
#include "cli/commands/train_command.h"

namespace CLI {
class App;
}

namespace motley {

// Texts for flags that may be omitted. A simulated job does not learn.
struct LearningHelp {
  std::string chosen;
  std::string epochs;
  bool learns = true;  // False: leave flags about learning out.
};

void AddModelFlags(CLI::App* app, JobFlags& flags, const LearningHelp& help);
// `chosen` says which schedule a job has without the flag.
void AddScheduleFlag(CLI::App* app, JobFlags& flags, const std::string& chosen, const char* group);
// Adds more flags for learning, and those for judging progress.
void AddLearningFlags(CLI::App* train, TrainFlags& flags);

}  // namespace motley
