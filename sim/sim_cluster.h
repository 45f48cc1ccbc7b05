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
#include "sim/faults/random_faults.h"
#include "sim/world/modelled_vectors.h"

namespace motley {

// Server and workers lose their power and come back, and the job resumes from its newest
// checkpoint. Times are drawn from the seed.
struct PowerCuts {
  uint32_t most = 0;        // Cuts, before the job may finish. 0: none, and no disk.
  double mean_seconds = 0;  // Mean time from a start to the next cut.
  double inside_write = 0;  // Chance that a cut comes while a checkpoint is written instead.
  double full_disk = 0;     // Chance that there is no room for checkpoints until the next cut.
  double broken_node = 0;   // Chance that a checkpoint folder takes no writes until the next cut.
  // Chance that only the server's process dies instead. The workers look for it, and it resumes.
  double server_alone = 0;
  // At most this many checkpoint folders are lost or damaged while the power is off; at most m.
  uint32_t damaged_nodes = 0;
};

// The source of gradients and samples.
enum class SimTrainer {
  kBuiltIn,
  // Least squares as a caller's trainer (squares_trainer.h): on the job's samples, or on samples
  // that workers have from elsewhere.
  kSquares,
  kSquaresOwnData,
  // Cost-only: nothing is computed from samples. Everything takes as long as with a model of
  // cluster.gradient_bytes on these devices and links. Vectors have only a few floats per slice.
  // Their gradient has known sums (quadratic.h), so exactness is still checked.
  kCostOnly,
};

// A slice of a vector that arrived.
struct SimTransfer {
  WorkerId worker = 0;
  bool to_server = false;  // True for answers, false for parameters.
  StepId step = 0;
  bool first = false;  // The first slice of its vector.
  Time begin{};        // The arrivals of its first and last byte.
  Time end{};
};

class RecordedTimes;      // recorded_times.h
struct SharedProcessors;  // sim_device.h

struct SimOptions {
  JobOptions job;
  // The vector is cut into groups of parameters, unless only costs are simulated.
  bool grouped = false;
  SimTrainer trainer = SimTrainer::kBuiltIn;
  // Makes the trainer of a worker's process. Simulate derives this, job.foreign and `vectors` from
  // `trainer`.
  std::function<std::shared_ptr<const ForeignTrainer>()> bring_trainer;
  ModelledVectors vectors;
  // Cost-only: the number of samples that workers have from elsewhere. They are only counted, and
  // nobody holds them. 0: the samples are those of the data set and are sent to workers.
  uint64_t samples = 0;
  // Cost-only: workers measure their speed before they begin, as with built-in models; with a
  // caller's trainer they cannot.
  bool calibrated = true;
  ClusterProfile cluster;  // One worker profile per job.workers.
  // The link of each shard server (job.shard_servers); none: those of the workers, in turn.
  std::optional<LinkProfile> shard_server_link;
  std::vector<std::string> names;  // Distinct names of the workers; empty: worker-0 and so on.
  // Start times of workers in seconds; workers beyond the end start with the server.
  std::vector<double> start_seconds;
  // By worker: the part of the profile's speed that a second, joined device has, in (0, 1). 0, or
  // beyond the end: the worker has one device.
  std::vector<double> second_devices;
  // The workers are processes of one machine and share this many processors; 0: each has its own.
  // `processors` follows from it.
  double shared_processors = 0;
  std::shared_ptr<SharedProcessors> processors;
  // Recorded times of workers, in place of those that profiles model; null: profiles. The first
  // step has the times of recorded step `replay_from`.
  std::shared_ptr<const RecordedTimes> replay;
  uint64_t replay_from = 0;
  std::vector<Fault> faults;
  RandomFaults random_faults;
  PowerCuts power_cuts;  // Needs job.checkpoint.every.
  uint64_t seed = 1;
  // Nodes send heartbeats and notice silent peers. This costs two messages per worker and second;
  // long cost-only simulations leave it off.
  bool heartbeat = false;
  // Decoded sums, and the parameters that follow from them, are compared with a direct computation.
  // A network on real data may have a unit at its kink, where rounding alone decides its gradient.
  bool check_sums = true;
  double link_jitter_seconds = 0;                       // Mean extra delay of a message.
  size_t socket_buffer_bytes = 4u << 20;                // Per direction of a connection.
  std::function<void(const SimTransfer&)> on_transfer;  // May be null.
  // Speed of the devices on which the server audits and evaluates; 0: both take no time.
  double audit_samples_per_second = 0;
  // Rate of the server's link, each way, for all connections together. Used if the cluster does not
  // give one; 0: unlimited.
  double server_bytes_per_second = 0;
  double data_bytes = 0;  // Bytes that all samples together take on links; 0: their size.
  // The job is stopped after this many steps, although it plans for job.steps. 0: it runs to its
  // end.
  uint64_t stop_after_steps = 0;
  // Infinity: the limit of one step (sim/liveness_limit.h) times the number of steps.
  double max_virtual_seconds = 3600;

  ServerRates server_rates() const {
    return cluster.server.value_or(ServerRates{server_bytes_per_second, server_bytes_per_second});
  }
  // The links of all servers that may sum the vector, together; 0: unlimited, or not known.
  ServerRates rates_of_servers() const {
    if (job.shard_servers == 0) return server_rates();
    const bool alone = job.holders == JobOptions::Holders::kShardServers;
    if (!alone || !shard_server_link) return {};
    const double servers = job.shard_servers;
    return {.in = servers * shard_server_link->Down().bytes_per_second,
            .out = servers * shard_server_link->Up().bytes_per_second};
  }
};

struct SimResult {
  JobResult job;
  uint64_t digest = 0;  // Over every command, commit and the last random draw.
  uint64_t tasks_run = 0;
  double virtual_seconds = 0;
  // The time of a step with perfectly divisible work on these devices and links (IdealStepSeconds).
  // With a replay: the mean of ideal_seconds.
  double ideal_step_seconds = 0;
  // With a replay: each step's lower bound for any exact scheme (recorded_times.h).
  std::vector<double> ideal_seconds;
  std::vector<std::string> violations;  // Broken invariants, in words; must be empty.
  // ||parameters - serial|| / ||serial||, where the serial run has no workers.
  double serial_difference = 0;
  uint32_t live_workers = 0;  // Workers alive when the job ended.
  bool power_cut = false;     // The power went before the job ended.
  // Counts of interesting states: "worker lost", "row reassigned", ...
  std::map<std::string, uint64_t> reached;
};

// Runs one cluster to its end, through all its power cuts. Digest, tasks, times, reached states and
// violations cover all incarnations; the job's result is that of the last one. kInvalidArgument if
// the options cannot work. With `options.samples` nothing reads `data`. A job that is not done
// after max_virtual_seconds ends with kUnavailable in its result. `observer` may be null.
Result<SimResult> Simulate(const SimOptions& options, const Dataset& data, JobObserver* observer);

// A small synthetic data set that softmax learns: `features` Gaussian inputs around `classes`
// centres. For 0 classes the label is a fixed linear function of the inputs plus noise.
Dataset MakeSyntheticDataset(uint32_t samples, uint32_t features, uint32_t classes, uint64_t seed);

}  // namespace motley
