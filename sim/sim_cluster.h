// SPDX-License-Identifier: Apache-2.0
// A whole cluster in one process: the real server and worker nodes on virtual time, a simulated
// network and simulated devices that do the real arithmetic. Everything follows from the options
// and the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "data/dataset.h"
#include "profiles/profile.h"
#include "runtime/fault_plan.h"
#include "runtime/job_event.h"
#include "sim/world/modelled_vectors.h"

namespace motley {

// Faults beyond a script, drawn from the seed: mean times between them in seconds of virtual time;
// 0 switches one off.
struct RandomFaults {
  double kill_every = 0;       // One worker is always left.
  double restart = 0;          // Chance that a killed worker is started again within a second.
  double pause_every = 0;      // 10 ms to 2 s.
  double slow_every = 0;       // 2x to 10x, for 0.1 to 5 s.
  double partition_every = 0;  // One worker's link carries nothing for 10 ms to 2 s.
  // A worker's answer is not finite: at most twice per worker, and one worker per step, since two
  // in one step look like a training that diverges.
  double nan_every = 0;
  // A slice of a worker's answer is damaged behind all checksums, so that its norm stays: counts as
  // an answer that is not finite does.
  double garble_every = 0;
  double break_every = 0;  // A worker's device hangs or fails, for good. One is always left.
  // One of two joined devices reports nothing for 1.5 to 3 s, and then all: for so long that the
  // other one does its work, and not so long that it counts as lost.
  double stall_every = 0;
  double replay = 0;          // Chance that a bulk frame has a twin of an older life.
  double cut_every = 0;       // A worker's connection breaks; the server may not hear of it.
  double blackout_every = 0;  // All connections break at once, or carry nothing for 10 ms to 5 s.
  double leave_every = 0;     // A worker takes its leave, and may come back. One is always left.
  double stranger_every = 0;  // Seconds between visits of one who is no worker, until the end.
  double until_seconds = 0;   // Then faults stop, and the job must finish.
};

// The machine of server and workers loses its power, comes back, and the job is resumed from its
// newest checkpoint; times and moments are drawn from the seed.
struct PowerCuts {
  uint32_t most = 0;        // Then the job may finish. 0: none, and no disk.
  double mean_seconds = 0;  // From a start to the next cut.
  double inside_write = 0;  // Chance that it hits a checkpoint that is being written instead.
  double full_disk = 0;     // Chance that there is no room for checkpoints until the next cut.
  double broken_node = 0;   // Chance that one of their folders takes nothing until the next cut.
  // Chance that the server's process dies alone instead: the workers look for it, and it is
  // resumed.
  double server_alone = 0;
  uint32_t damaged_nodes =
      0;  // Folders that are lost or damaged while the power is off; at most m.
};

// Whose gradient is trained with, and who has the samples.
enum class SimTrainer {
  kBuiltIn,
  kSquares,         // Least squares as a caller's trainer (squares_trainer.h) on the job's samples,
  kSquaresOwnData,  // or on samples that workers have from elsewhere.
  // Cost-only: nothing is computed from samples. Everything takes as long as with a model of
  // cluster.gradient_bytes on these devices and links, while vectors have a few floats for each
  // slice and a gradient whose sums are known (quadratic.h), so that exactness is checked still.
  kCostOnly,
};

// A slice of a vector that came.
struct SimTransfer {
  WorkerId worker = 0;
  bool to_server = false;  // Otherwise it is one of the parameters.
  StepId step = 0;
  bool first = false;  // Of its vector.
  Time begin{};        // When its first and its last byte came.
  Time end{};
};

class RecordedTimes;      // recorded_times.h
struct SharedProcessors;  // sim_device.h

struct SimOptions {
  JobOptions job;
  SimTrainer trainer = SimTrainer::kBuiltIn;
  // Of a worker's process; this, job.foreign and `vectors` follow from `trainer`.
  std::function<std::shared_ptr<const ForeignTrainer>()> bring_trainer;
  ModelledVectors vectors;
  // Cost-only: the workers have so many samples from elsewhere, which are counted and nowhere held.
  // 0: the samples are those of the data set, which are sent to workers.
  uint64_t samples = 0;
  // Cost-only: workers measure their speed before they begin, as with built-in models; with a
  // caller's trainer they cannot.
  bool calibrated = true;
  ClusterProfile cluster;          // One worker profile per job.workers.
  std::vector<std::string> names;  // Of the workers, each another one; empty: worker-0 and so on.
  // When workers start, in seconds; those beyond the end start with the server.
  std::vector<double> start_seconds;
  // Workers with two devices that are joined: the part of the profile's speed that the second one
  // has, in (0, 1); 0: it has one. By worker; those beyond the end have one.
  std::vector<double> second_devices;
  // The workers are processes of one machine and share so many processors; 0: each has its own.
  // `processors` follows from it.
  double shared_processors = 0;
  std::shared_ptr<SharedProcessors> processors;
  // What workers take instead of what their profiles model; null: as these say. The first step has
  // the times of recorded step `replay_from`.
  std::shared_ptr<const RecordedTimes> replay;
  uint64_t replay_from = 0;
  std::vector<Fault> faults;
  RandomFaults random_faults;
  PowerCuts power_cuts;  // Needs job.checkpoint.every.
  uint64_t seed = 1;
  // Nodes watch each other's silence. Each second costs two messages for every worker, which long
  // simulations of nothing but costs do without.
  bool heartbeat = false;
  double link_jitter_seconds = 0;                       // Mean extra delay of a message.
  size_t socket_buffer_bytes = 4u << 20;                // Of each direction of a connection.
  std::function<void(const SimTransfer&)> on_transfer;  // May be null.
  // Of the devices on which the server audits and evaluates; 0: both take no time.
  double audit_samples_per_second = 0;
  // Of all connections together, each way, where the cluster does not say what its server's link
  // carries; 0: unlimited.
  double server_bytes_per_second = 0;
  double data_bytes = 0;  // What all samples count for on links; 0: what they have.
  // The job is stopped after so many, whatever it was to do: one that plans ahead is seen as it
  // begins. 0: it runs to its end.
  uint64_t stop_after_steps = 0;
  // Infinite: as long as its steps may take, each by itself (sim/liveness_limit.h).
  double max_virtual_seconds = 3600;

  ServerRates server_rates() const {
    return cluster.server.value_or(ServerRates{server_bytes_per_second, server_bytes_per_second});
  }
};

struct SimResult {
  JobResult job;
  uint64_t digest = 0;  // Over every command, commit and the last random draw.
  uint64_t tasks_run = 0;
  double virtual_seconds = 0;
  // Perfectly divisible work behind these links (IdealStepSeconds). With a replay: the mean of
  // ideal_seconds.
  double ideal_step_seconds = 0;
  // With a replay: of each step, a lower bound of what any exact scheme takes (recorded_times.h).
  std::vector<double> ideal_seconds;
  std::vector<std::string> violations;  // Broken invariants, in words; must be empty.
  // ||parameters - serial|| / ||serial||, where the serial run knows no workers.
  double serial_difference = 0;
  uint32_t live_workers = 0;  // When the job ended.
  bool power_cut = false;     // This life ended so, and the job did not.
  // How often interesting things happened: "worker lost", "row reassigned", ...
  std::map<std::string, uint64_t> reached;
};

// Runs one cluster to its end, through all its power cuts: then digest, tasks, times, reached
// states and violations are those of all its lives, the job's result of the last. kInvalidArgument
// when the options cannot work. With `options.samples` nothing reads `data`. A job that is not done
// after max_virtual_seconds ends with kUnavailable in its result. `observer` may be null.
Result<SimResult> Simulate(const SimOptions& options, const Dataset& data, JobObserver* observer);

// A small made-up data set that softmax learns: `features` Gaussian inputs around `classes`
// centres; for 0 classes the label is a fixed linear function of them plus noise.
Dataset MakeSyntheticDataset(uint32_t samples, uint32_t features, uint32_t classes, uint64_t seed);

}  // namespace motley
