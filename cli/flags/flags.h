// SPDX-License-Identifier: Apache-2.0
// Declares the sub-commands and their flags, as --help shows them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace motley {

struct CheckpointFlags;
struct CodesFlags;
struct CompareFlags;
struct DevicesFlags;
struct PlanFlags;
struct PredictFlags;
struct ProfileFlags;
struct ReproduceFlags;
struct RunFlags;
struct SimulateFlags;
struct SweepFlags;
struct TrainFlags;
struct ShardServerFlags;
struct WorkerFlags;

// Each function adds one sub-command. Parsing writes its flags to `flags`, which must outlive
// `app`.
CLI::App* AddTrain(CLI::App& app, TrainFlags& flags);
std::vector<std::string> TrainFlagNames();  // Without their "--".
CLI::App* AddRun(CLI::App& app, RunFlags& flags);
CLI::App* AddSimulate(CLI::App& app, SimulateFlags& flags);
CLI::App* AddCompare(CLI::App& app, CompareFlags& flags);
CLI::App* AddSweep(CLI::App& app, SweepFlags& flags);
CLI::App* AddCodes(CLI::App& app, CodesFlags& flags);
CLI::App* AddDevices(CLI::App& app, DevicesFlags& flags);
CLI::App* AddCheckpoint(CLI::App& app, CheckpointFlags& flags);
CLI::App* AddPlan(CLI::App& app, PlanFlags& flags);
CLI::App* AddPredict(CLI::App& app, PredictFlags& flags);
CLI::App* AddReproduce(CLI::App& app, ReproduceFlags& flags);
CLI::App* AddProfile(CLI::App& app, ProfileFlags& flags);
CLI::App* AddWorker(CLI::App& app, WorkerFlags& flags);  // Not shown in --help.

CLI::App* AddShardServer(CLI::App& app, ShardServerFlags& flags);

}  // namespace motley
