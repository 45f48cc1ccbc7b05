// SPDX-License-Identifier: Apache-2.0
// A training job as the server sees it, and its result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/wire_format.h"
#include "checkpoint/checkpoint.h"
#include "coding/decode/decoder.h"
#include "data/data_source.h"
#include "runtime/job_notice.h"
#include "runtime/judging.h"
#include "scheduler/scheduler.h"
#include "training/models/model.h"
#include "training/optimizers/optimizer.h"
#include "training/trainers/local_trainer.h"

namespace motley {

// How a job's samples came from what a user gave. Checkpoints keep it, so that their model can be
// exported and the job resumed on the same samples.
struct DataMeaning {
  std::vector<double> class_labels;
  float input_scale = 1;  // Features were multiplied by this.
  double split = 0;       // Part of the samples that trains; 0: as the data came.
  Storage storage = Storage::kFloat32;
  std::string table;      // ToJson(TableSchema); empty if the data were no table.
  double validation = 0;  // Part of the training samples that is held out for judging; 0: none.
};

struct CheckpointOptions {
  uint64_t every = 0;  // Steps; 0: none. Needs Env::disk.
  CheckpointCode code;
  // Not 0. Names the training run through all its resumptions (CheckpointState::job).
  uint64_t run = 0;
};

struct SavedJob;  // saved_job.h

// The server reads nothing from a stranger but a Join with its token, so a longer token could never
// be shown.
inline constexpr size_t kMaxTokenBytes = 1024;
// The least length if other machines can connect, so that nobody guesses the token in an afternoon.
// Generated tokens have 32 characters.
inline constexpr size_t kLeastTokenBytes = 16;
// kInvalidArgument when the token is too long, or too short while `listen` ("HOST:PORT") is more
// than a loopback address. The caller decides about an empty token.
Status CheckToken(const std::string& token, const std::string& listen);

// The scheduler gets its part of the options whole. The server itself sets `first_step`,
// `most_sums`, and `partitions` (k) if it is 0: PartitionCount then chooses.
struct JobOptions : SchedulerOptions {
  JobOptions() {
    partitions = 0;
    batch = 256;
    seed = 7;
  }

  ModelSpec model;
  OptimizerOptions optimizer;
  // With sync.local_steps: the workers' own steps. `optimizer` then applies what they changed, and
  // `batch` has the samples of all workers' steps of a round.
  LocalSteps local;
  // The caller's own gradient instead of `model` (training/trainers/callback_trainer.h); null if
  // there is none.
  std::shared_ptr<const struct ForeignTrainer> foreign;
  // Not 0. Random and never reused, whatever the seed. It distinguishes this job's frames from
  // those of an earlier job at the same address.
  uint32_t job_id = 0;
  std::string token;           // Workers must show it. Not empty.
  bool name_arrivals = false;  // A notice reports who joined, from where, with which device.
  // Ends the job with kUnavailable when its open step makes no progress for this long; zero: never.
  Duration step_limit{};
  uint32_t slice_length = 1u << 18;  // Floats (1 MiB).
  // Ranges that the vector is cut into, each summed, updated and published by a shard of its own. A
  // small model has fewer.
  uint32_t shards = 1;
  // The nodes that hold the shards. kChosen: the server, or the workers if their links are measured
  // to be faster (scheduler/placement/reduction.h). kShardServers: all of the shard servers, for
  // which the first step waits.
  enum class Holders : uint8_t { kServer, kWorkers, kChosen, kShardServers };
  Holders holders = Holders::kServer;
  std::optional<notice::StarKept::Why> star_kept;  // Why kChosen became kServer before the job.
  // Places of shard servers. With kWorkers and kChosen those that have joined may hold shards, too.
  uint32_t shard_servers = 0;
  uint32_t places() const { return workers + shard_servers; }
  // Nodes that follow each shard that is not at the server, so that it outlives its owner.
  uint32_t followers = 1;
  // How answers, and parameters for workers, travel. Sums, updates, followers and checkpoints have
  // float32 whatever travels. `unweighted` and `audit_fraction` 0 belong to it
  // (docs/decisions/0050).
  WireFormat wire = WireFormat::kFloat32;
  // In simulations: the floats that the vector stands for, when its placement is chosen. 0: its
  // own.
  uint64_t modelled_floats = 0;
  // For tests: the server reads each version back from the workers that hold its shards.
  bool read_every_version = false;
  // Part of the steps whose answers are compared with sums that the server forms itself: the first
  // step, at least one of 1 / audit_fraction in a row, and others by chance. 0: none.
  double audit_fraction = 0.02;
  // Part of the time that audits may take, in a thread of their own. Beyond it, drawn steps are
  // left out. 0: every drawn step is audited, and an update waits while an earlier audit runs.
  double audit_time = 0.01;
  uint64_t audit_secret = 0;   // Random. Workers that knew it could lie without being caught.
  bool measure_links = false;  // Measures while the job trains (event::RoundTrip).
  DataMeaning meaning;
  ValidationOptions validation;
  CheckpointOptions checkpoint;
  // Where the server keeps its newest version, for other threads. Null: for itself alone.
  std::shared_ptr<class NewestVersion> newest;
  // The first version; null: the model or the trainer initializes it.
  std::shared_ptr<const std::vector<float>> first_parameters;
  OldGradients old_gradients = OldGradients::kAsOthers;  // With updates of each worker's own.
  // The checkpoint to go on from, after checks of all that must be the same; null: the job starts
  // anew. `steps` includes its steps.
  std::shared_ptr<const SavedJob> resume;
};

// The optimizer's options with what synchronization adds to them.
OptimizerOptions OptimizerOf(const JobOptions& options);

// k for a job: enough fine partitions to share work smoothly, and never more than samples.
// kInvalidArgument when there are more workers than samples.
Result<uint32_t> PartitionCount(uint64_t samples, uint32_t workers);
// Like the above, with enough partitions that each is small enough to be sent whole and held beside
// others (256 MiB encoded, estimated if samples are sparse).
Result<uint32_t> PartitionCount(const DataShape& data, uint32_t workers);
// Encoded bytes of the largest of `partitions` equal parts, by the same estimate; 0 for samples
// that the caller has.
uint64_t LargestPartitionBytes(const DataShape& data, uint32_t partitions);

// The sum of a step that ended before it was exact (code "approximate").
struct ApproximateSum {
  std::vector<double> weights;   // a, one per row; 0 if the row did not come in time.
  std::vector<double> coverage;  // alpha = a B: the sum is sum_j alpha_j g_j. Their mean is 1.
  double error = 0;              // (1/k) ||alpha - 1||^2
};

// The decoded sum of a step, before its update.
struct DecodedSum {
  std::span<const float> gradient;  // VectorLength floats.
  double loss = 0;
  double weight = 0;  // The update divides by this.
};

// The steps of a job that ended with an approximate sum.
struct ApproximateRecord {
  uint64_t steps = 0;
  double error_sum = 0;
  double max_error = 0;

  double mean_error() const { return steps > 0 ? error_sum / static_cast<double>(steps) : 0; }
};

// Figures of the audits.
struct AuditCounts {
  uint64_t audited_steps = 0;
  uint64_t audit_failures = 0;  // Wrong answers and sums. AuditFindings counts them.
  // ||decoded - direct|| / ||decoded|| over audited steps. For an approximate step, `direct` is
  // sum_j alpha_j g_j.
  double max_decode_error = 0;
};

// The figures of a job that outlive its process: they cover all its runs, and checkpoints keep
// them.
struct JobHistory : AuditCounts {
  double wall_seconds = 0;       // From the start of each run's first step to its last commit.
  uint64_t discarded_steps = 0;  // Steps that were opened but whose update was never applied.
  double max_amplification = 0;
  ApproximateRecord approximate;
  uint64_t first_loss = 0;         // The step of batch_loss[0]. A very long job drops the oldest.
  std::vector<double> batch_loss;  // Mean loss of each step's batch, before its update.
};

// An audit's finding about an answer that is not the sum it should be, without words.
struct AuditWarning {
  enum class Kind {
    kAnswer,   // `worker` sent a wrong answer, as others confirm.
    kUnclear,  // `suspect` or the server is wrong, and nobody else can confirm either.
    kSum,      // All answers are right, but what was decoded from them is not their sum.
    kSumOf,    // The same, of the part of the vector that `worker` sums.
    kBetween,  // `suspect` sent a wrong answer, or `at`, which sums a part of it, says so falsely.
  };
  struct Suspect {
    WorkerId worker;
    std::string name;
    double difference;  // Relative.
    size_t others;      // More suspects.
  };

  StepId step = 0;
  // The worker, or shard server, that was wrong; none: that is not certain.
  std::optional<WorkerId> worker;
  std::string name;       // The name of that worker, or of `at`.
  double difference = 0;  // Relative: 1.5 is 150 %.
  bool sent_away = false;
  Kind kind = Kind::kAnswer;
  std::string off;  // The wrong part: "gradient", "loss" or "weight"; empty for sums.
  std::optional<Suspect> suspect;
  std::optional<WorkerId> at;
};

// What the audits of this run found.
struct AuditRecord {
  double max_difference = 0;           // The largest among right answers.
  std::vector<AuditWarning> warnings;  // The first warnings.
};

// The result of a finished (or ended) job.
struct JobResult : JobHistory {
  Status status;
  // The last version that the server has, or the best (`validation`); never null, but empty if it
  // is lost with the workers that held it. It is shared with everyone who holds it, so returning it
  // at the end takes no memory and cannot fail. A job with 10^9 parameters has one copy.
  std::shared_ptr<const std::vector<float>> parameters =
      std::make_shared<const std::vector<float>>();
  uint64_t steps = 0;         // Committed steps.
  uint64_t first_step = 0;    // The first step of this run; earlier ones came from a checkpoint.
  double seconds_before = 0;  // The part of wall_seconds in earlier runs.
  std::vector<double> step_seconds;  // From commit to commit, for this run's newest steps.
  double slowest_seconds = 0;        // The longest step of this run; 0 if there was none.
  uint64_t slowest_step = 0;
  AuditRecord audit;
  StalenessRecord staleness;  // A job without a barrier has one run.
  SchedulerStats scheduler;
  std::vector<uint64_t> held_bytes;  // Per worker, as last reported.
  std::vector<std::string> worker_names;
  uint64_t checkpoint_step = 0;      // Steps in the newest safe checkpoint; 0: none.
  uint64_t checkpoints = 0;          // Checkpoints written in this run.
  uint64_t checkpoint_failures = 0;  // Checkpoints of this run that could not be written.
  Status checkpoint_status;          // The result of the last attempt to write one.
  // Why the newest safe checkpoint is degraded; none if it is whole.
  std::optional<notice::CheckpointDegraded> checkpoint_weakness;
  ValidationSummary validation;
  std::string stopped_early;  // Why the job stopped before all steps; empty if all were done.
};

}  // namespace motley
