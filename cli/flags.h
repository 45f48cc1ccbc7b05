// SPDX-License-Identifier: Apache-2.0
// The sub-commands and their flags, as --help shows them.
#pragma once

#include "cli/checkpoint_command.h"
#include "cli/codes_command.h"
#include "cli/devices_command.h"
#include "cli/plan_command.h"
#include "cli/predict_command.h"
#include "cli/profile_command.h"
#include "cli/reproduce_command.h"
#include "cli/simulate_command.h"
#include "cli/train_command.h"
#include "cli/worker_command.h"

namespace CLI {
class App;
}

namespace motley {

// Each adds one sub-command, whose flags are written to `flags` by parsing; `flags` outlives `app`.
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
