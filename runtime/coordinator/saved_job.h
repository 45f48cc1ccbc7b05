// SPDX-License-Identifier: Apache-2.0
// What a checkpoint says about its job besides the numbers themselves: what the job was, so that
// another run can go on with it or its model be used, and how far its report had come. Plain
// values; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "data/data_source.h"
#include "runtime/job.h"
#include "training/model_files/safetensors.h"
#include "training/optimizers/optimizer.h"

namespace motley {

struct JobDescription {
  // Must be the same for the batches, and so the loss curve, to go on.
  ModelSpec model;
  bool own_trainer = false;  // The caller brings the trainer; `model` says nothing.
  uint64_t parameters = 0;
  OptimizerOptions optimizer;  // Its learning rate and L2 term may be changed.
  uint64_t samples = 0;
  bool sparse = false;
  uint64_t fingerprint = 0;  // Hash of some samples; 0: not known.
  uint64_t digest = 0;       // Hash of all samples; 0: not known, as in older checkpoints.
  uint32_t batch = 0;
  bool older_batches =
      false;  // As descriptions before version 3 mean them: see docs/decisions/0029.
  DataMeaning meaning;
  uint64_t steps = 0;        // The whole job's; may be changed.
  uint64_t judge_every = 0;  // ValidationOptions; may be changed.
  uint32_t patience = 0;

  JobHistory history;
  bool best_follows = false;  // The best version's parameters stand behind the optimizer's state.
};

// Some of the samples' bytes (not all: they may be larger than memory), as a number that is never
// 0. Errors are those of the source.
Result<uint64_t> Fingerprint(const DataSource& data);

// All of the samples' bytes, as a number that is never 0 (where the program's own trainer has the
// samples, it is). Reads them once, in blocks. Errors are those of the source.
Result<uint64_t> FullFingerprint(const DataSource& data);

// What `options` and `data` come to; `parameters` is the model's count. `history` is left empty.
Result<JobDescription> Describe(const JobOptions& options, const DataSource& data,
                                uint64_t parameters);

std::string ToJson(const JobDescription& about);
// kDataError: not what ToJson wrote, by this version or an earlier one.
Result<JobDescription> ParseJobDescription(const std::string& json);

// A checkpoint, understood. Immutable once made.
struct SavedJob {
  uint64_t run = 0;  // CheckpointState::job
  uint64_t seed = 0;
  uint64_t step = 0;
  JobDescription about;
  std::shared_ptr<const std::vector<float>> parameters;
  uint64_t optimizer_steps = 0;
  std::shared_ptr<const std::vector<float>> optimizer_state;
  // The version that the job would leave, where that is not the last; else null.
  std::shared_ptr<const std::vector<float>> best;
};

// kDataError when the description does not fit the numbers, or they are not finite.
Result<SavedJob> Understand(const CheckpointState& state);

// The newest checkpoint of `store`, or that of `step`. Errors and `notes` as of ReadCheckpoint.
Result<SavedJob> LoadSavedJob(Store& store, std::optional<uint64_t> step = {},
                              std::vector<std::string>* notes = nullptr);

// Whether checkpoints of run `run`, of steps after `step`, may be written into `store`: kConflict,
// naming them, when those of another run are there, or newer ones of this, which would go on being
// the newest. Another run is any when `run` is 0.
Status CheckBelongs(Store& store, uint64_t run, uint64_t step);

// kConflict when samples of the features and classes of `model` are not of the saved job's shape:
// what CheckSameJob says first, before a model is made that could not take the parameters.
Status CheckSameShape(const SavedJob& saved, const ModelSpec& model, bool sparse);

// kConflict names the first thing in which `now` (see Describe) and `seed` are not the saved job's,
// and what to do. A job with older batches cannot go on: this release draws others.
Status CheckSameJob(const SavedJob& saved, const JobDescription& now, uint64_t seed);

// What a run that goes on from it and adds no step comes to.
JobResult ResultOf(const SavedJob& saved);

// Its model, for a file. kInvalidArgument when a trainer of the caller's stood in its place.
Result<SavedModel> ModelOf(const SavedJob& saved);

}  // namespace motley
