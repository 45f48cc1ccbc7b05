// SPDX-License-Identifier: Apache-2.0
// What a training job is, as the server sees it, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "coding/decode/decoder.h"
#include "data/data_source.h"
#include "runtime/job_notice.h"
#include "runtime/judging.h"
#include "scheduler/scheduler.h"
#include "training/models/model.h"
#include "training/optimizers/optimizer.h"

namespace motley {

// How a job's samples came from what a user gave: kept with checkpoints, so that their model can be
// exported, and the job resumed on the same samples.
struct DataMeaning {
  std::vector<double> class_labels;
  float input_scale = 1;  // Features were multiplied by it.
  double split = 0;       // Part of the samples that trains; 0: as the data came.
  Storage storage = Storage::kFloat32;
  std::string table;      // ToJson(TableSchema); empty: the data were no table.
  double validation = 0;  // Part of those that train which is held out for judging; 0: none.
};

struct CheckpointOptions {
  uint64_t every = 0;  // Steps; 0: none. Needs Env::disk.
  CheckpointCode code;
  // Not 0. Names the training run, through all its resumptions: see CheckpointState::job.
  uint64_t run = 0;
};

struct SavedJob;  // saved_job.h

// A Join, with its token, is all that is read from a stranger: a longer one could never be shown.
inline constexpr size_t kMaxTokenBytes = 1024;
// Where other machines can connect, nobody may guess it in an afternoon. Those that are made up
// have 32 characters.
inline constexpr size_t kLeastTokenBytes = 16;
// kInvalidArgument when it is longer than that, or shorter while `listen` ("HOST:PORT") is not an
// address of loopback alone. An empty one is for the caller to judge.
Status CheckToken(const std::string& token, const std::string& listen);

struct JobOptions {
  ModelSpec model;
  OptimizerOptions optimizer;
  // The caller's own gradient in the place of `model` (training/trainers/callback_trainer.h); null:
  // none.
  std::shared_ptr<const struct ForeignTrainer> foreign;
  uint32_t workers = 1;
  uint32_t batch = 256;
  uint64_t steps = 1;
  std::string code = "none";
  uint32_t tolerate = 1;          // Of "auto": at least so many.
  uint32_t draw_codes_every = 0;  // Of "auto", for the simulator: see SchedulerOptions.
  uint32_t most_workers = 0;      // As of SchedulerOptions, of jobs with a fixed code.
  // With code "approximate" only, as of SchedulerOptions.
  uint32_t quorum = 0;
  Duration step_deadline{};
  uint32_t parts = 2;  // Of codes with parts: answers are 1/parts as long as a gradient.
  Shares shares = Shares::kProportional;
  uint64_t seed = 7;
  // Not 0. Random and never used twice, whatever the seed: it tells this job's frames from those of
  // an earlier one at the same address.
  uint32_t job_id = 0;
  std::string token;  // Workers must show it; not empty.
  Duration start_timeout = std::chrono::seconds(30);
  uint32_t least_workers = 1;  // As of SchedulerOptions, with the next.
  std::optional<Duration> gather_time;
  bool name_arrivals = false;  // A notice says who joined, from where, with which device.
  Duration return_timeout = std::chrono::minutes(10);  // For a worker, when the last one was lost.
  // Ends the job with kUnavailable when its open step makes no progress for so long; zero: never.
  Duration step_limit{};
  uint32_t slice_length = 1u << 18;  // Floats (1 MiB).
  // Share of steps whose answers are held to sums that the server forms itself: the first, at least
  // one of 1 / audit_fraction in a row, and others by chance. 0: none.
  double audit_fraction = 0.02;
  // Part of the time that audits may take, in a thread of their own: steps that were drawn are left
  // out beyond it. 0: each is audited, and an update waits while an earlier audit runs.
  double audit_time = 0.01;
  uint64_t audit_secret = 0;   // Random: workers that knew it could lie without being seen.
  uint32_t partitions = 0;     // k; 0: as many as PartitionCount says.
  bool measure_links = false;  // While it trains: see event::RoundTrip.
  DataMeaning meaning;
  ValidationOptions validation;
  CheckpointOptions checkpoint;
  // The first version; null: as the model or the trainer begins.
  std::shared_ptr<const std::vector<float>> first_parameters;
  // Goes on from there; all that must be the same is checked. Null: starts anew. `steps` counts
  // those that it has.
  std::shared_ptr<const SavedJob> resume;
};

// k for a job: enough fine partitions to share work smoothly, never more than samples.
// kInvalidArgument when there are more workers than samples.
Result<uint32_t> PartitionCount(uint64_t samples, uint32_t workers);
// The same, and so many that each is small enough to be sent in one go and held beside others
// (256 MiB encoded, by an estimate where samples are sparse).
Result<uint32_t> PartitionCount(const DataShape& data, uint32_t workers);
// Encoded bytes of the largest of `partitions` equal parts, by the same estimate; 0 for samples
// that the caller has.
uint64_t LargestPartitionBytes(const DataShape& data, uint32_t partitions);

// The sum of a step that ended before it was exact (code "approximate").
struct ApproximateSum {
  std::vector<double> weights;   // a, one per row: 0 where it did not come in time.
  std::vector<double> coverage;  // alpha = a B: the sum is sum_j alpha_j g_j. Their mean is 1.
  double error = 0;              // (1/k) ||alpha - 1||^2
};

// What a step's answers came to, before its update.
struct DecodedSum {
  std::span<const float> gradient;  // VectorLength floats.
  double loss = 0;
  double weight = 0;  // What the update divides by.
};

// Of a job's steps, those that ended so.
struct ApproximateRecord {
  uint64_t steps = 0;
  double error_sum = 0;
  double max_error = 0;

  double mean_error() const { return steps > 0 ? error_sum / static_cast<double>(steps) : 0; }
};

// The part of a job's record that outlives its process.
struct JobHistory {
  double wall_seconds = 0;  // From each run's first step's start to its last commit.
  uint64_t discarded_steps = 0;
  uint64_t audited_steps = 0;
  uint64_t audit_failures = 0;  // AuditRecord::failures
  double max_decode_error = 0;
  double max_amplification = 0;
  ApproximateRecord approximate;
  uint64_t first_loss = 0;  // Step of batch_loss[0]; the oldest of a very long job are dropped.
  std::vector<double> batch_loss;  // Mean loss of each step's batch, before its update.
  ValidationState validation;
};

// What an audit found: an answer that is not the sum it should be.
struct AuditWarning {
  StepId step = 0;
  std::optional<WorkerId> worker;  // Whose answer it is; none: the server may be at fault itself.
  std::string name;                // Of that worker.
  double difference = 0;           // Relative: 1.5 is 150 %.
  bool sent_away = false;
  std::string text;  // For people.
};

struct AuditRecord {
  double max_difference = 0;           // Of answers that were found to be right.
  uint64_t failures = 0;               // Answers and sums that were not, in all runs of the job.
  std::vector<AuditWarning> warnings;  // The first of this run.
};

// What a finished (or ended) job leaves. With JobOptions::resume, of all its runs together.
struct JobResult {
  Status status;
  // Of the last version, or of the best (`validation`); never null. Shared with whoever still holds
  // that version, so that handing them over at the end takes no memory and cannot fail. A job with
  // 10^9 of them has one copy.
  std::shared_ptr<const std::vector<float>> parameters =
      std::make_shared<const std::vector<float>>();
  uint64_t steps = 0;                // Committed.
  uint64_t discarded_steps = 0;      // Opened, but their update was never applied.
  uint64_t first_step = 0;           // Of this run: those before it came from a checkpoint.
  double wall_seconds = 0;           // From the first step's start to the last commit, and
  double seconds_before = 0;         // how much of that earlier runs took.
  std::vector<double> step_seconds;  // Commit to commit, of this run's newest steps.
  double slowest_seconds = 0;        // The longest step of this run; 0: there was none.
  uint64_t slowest_step = 0;
  std::vector<double> batch_loss;  // Mean loss of each step's batch, before its update.
  uint64_t first_loss = 0;         // Step of batch_loss[0].
  // ||decoded - direct|| / ||decoded|| over audited steps; `direct` is sum_j alpha_j g_j where the
  // step was approximate.
  double max_decode_error = 0;
  uint64_t audited_steps = 0;
  AuditRecord audit;
  double max_amplification = 0;
  ApproximateRecord approximate;
  SchedulerStats scheduler;
  std::vector<uint64_t> held_bytes;  // Per worker, as last reported.
  std::vector<std::string> worker_names;
  uint64_t checkpoint_step = 0;      // Steps that the newest safe checkpoint has; 0: none.
  uint64_t checkpoints = 0;          // Written in this run.
  uint64_t checkpoint_failures = 0;  // Tried in this run, and not written.
  Status checkpoint_status;          // What became of the last that was tried.
  // Why the newest safe one is degraded; none: it is whole.
  std::optional<notice::CheckpointDegraded> checkpoint_weakness;
  ValidationSummary validation;
  std::string stopped_early;  // Why not all steps were needed; empty: all were done.
};

}  // namespace motley
