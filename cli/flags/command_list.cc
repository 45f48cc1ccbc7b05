// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/command_list.h"

#include <memory>

#include "cli/commands/checkpoint_command.h"
#include "cli/commands/codes_command.h"
#include "cli/commands/compare/compare_command.h"
#include "cli/commands/devices_command.h"
#include "cli/commands/plan/plan_command.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/profile_command.h"
#include "cli/commands/reproduce_command.h"
#include "cli/commands/run_command.h"
#include "cli/commands/simulate_command.h"
#include "cli/commands/sweep/sweep_command.h"
#include "cli/commands/train_command.h"
#include "cli/commands/worker_command.h"
#include "cli/flags/flags.h"
#include "cli/flags/help_command.h"

namespace motley {
namespace {

template <typename Flags>
Command Declare(CLI::App& app, CLI::App* (*add)(CLI::App&, Flags&), int (*run)(const Flags&)) {
  auto flags = std::make_shared<Flags>();
  const CLI::App* command = add(app, *flags);
  return {command, [flags, run] { return run(*flags); }};
}

}  // namespace

std::vector<Command> DeclareCommands(CLI::App& app) {
  return {Declare(app, AddTrain, RunTrain),
          Declare(app, AddRun, RunRun),
          Declare(app, AddSimulate, RunSimulate),
          Declare(app, AddCompare, RunCompare),
          Declare(app, AddSweep, RunSweep),
          Declare(app, AddCodes, RunCodes),
          Declare(app, AddDevices, RunDevices),
          Declare(app, AddPlan, RunPlan),
          Declare(app, AddPredict, RunPredict),
          Declare(app, AddProfile, RunProfile),
          Declare(app, AddCheckpoint, RunCheckpoint),
          Declare(app, AddReproduce, RunReproduce),
          Declare(app, AddWorker, RunWorker),
          Declare(app, AddShardServer, RunShardServer),
          Declare(app, AddHelp, RunHelp),
          Declare(app, AddCompletion, RunCompletion)};
}

}  // namespace motley
