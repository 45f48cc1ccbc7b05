// SPDX-License-Identifier: Apache-2.0
// Declares the sub-commands and their flags, as --help shows them.
#pragma once

#include "cli/commands/checkpoint_command.h"
#include "cli/commands/codes_command.h"
#include "cli/commands/devices_command.h"
#include "cli/commands/plan_command.h"
#include "cli/commands/predict_command.h"
#include "cli/commands/profile_command.h"
#include "cli/commands/reproduce_command.h"
#include "cli/commands/simulate_command.h"
#include "cli/commands/train_command.h"
#include "cli/commands/worker_command.h"

namespace CLI {
class App;
}

namespace motley {

// Each function adds one sub-command. Parsing writes its flags to `flags`, which must outlive
// `app`.
CLI::App* AddTrain(CLI::App& app, TrainFlags& flags);
CLI::App* AddSimulate(CLI::App& app, SimulateFlags& flags);
CLI::App* AddCodes(CLI::App& app, CodesFlags& flags);
CLI::App* AddDevices(CLI::App& app, DevicesFlags& flags);
CLI::App* AddCheckpoint(CLI::App& app, CheckpointFlags& flags);
CLI::App* AddPlan(CLI::App& app, PlanFlags& flags);
CLI::App* AddPredict(CLI::App& app, PredictFlags& flags);
CLI::App* AddReproduce(CLI::App& app, ReproduceFlags& flags);
CLI::App* AddProfile(CLI::App& app, ProfileFlags& flags);
CLI::App* AddWorker(CLI::App& app, WorkerFlags& flags);  // Not shown in --help.

}  // namespace motley
