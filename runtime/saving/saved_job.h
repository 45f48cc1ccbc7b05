// SPDX-License-Identifier: Apache-2.0
// The description of a job in its checkpoints, beside the numbers themselves: what the job was, so
// that another run can go on with it or use its model, and how far its report had come. Plain
// values; any thread.
#pragma once

#include <cstdint>
#include <functional>
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
  // The fields below must be equal for the batches, and so the loss curve, to go on.
  ModelSpec model;
  bool own_trainer = false;  // The caller brings the trainer; `model` says nothing.
  uint64_t parameters = 0;
  OptimizerOptions optimizer;  // Rates and the L2 term may be changed.
  // The trainer applies updates, and `optimizer` does not name its rule; none: unknown, as in older
  // descriptions.
  std::optional<bool> own_rule;
  uint64_t samples = 0;
  bool sparse = false;
  uint64_t fingerprint = 0;  // Hash of some samples; 0 if unknown.
  uint64_t digest = 0;       // Hash of all samples; 0 if unknown, as in older checkpoints.
  // Parts into which the samples were cut: a trainer of the caller's may follow them. 0: unknown,
  // as in older descriptions, or of no consequence, as for models.
  uint32_t partitions = 0;
  uint32_t batch = 0;
  // The batches are those of descriptions before version 3 (docs/decisions/0029).
  bool older_batches = false;
  DataMeaning meaning;
  uint64_t steps = 0;        // Steps of the whole job; may be changed.
  uint64_t judge_every = 0;  // ValidationOptions; may be changed.
  uint32_t patience = 0;
  // CheckpointOptions; may be changed. 0: unknown, as in older descriptions.
  uint64_t checkpoint_every = 0;
  CheckpointCode checkpoint_code;

  JobHistory history;
  ValidationState validation;
  bool best_follows = false;  // The best version's parameters follow the optimizer's state.
};

// Hashes some of the samples' bytes, because all may be larger than memory. The result is never 0.
// Returns errors of the source.
Result<uint64_t> Fingerprint(const DataSource& data);

// Hashes all of the samples' bytes, in one pass by blocks. The result is never 0, unless the
// program's own trainer has the samples. Returns errors of the source.
Result<uint64_t> FullFingerprint(const DataSource& data);

// Describes the job of `options` and `data`. `parameters` is the model's count. `history` is left
// empty.
Result<JobDescription> Describe(const JobOptions& options, const DataSource& data,
                                uint64_t parameters);

std::string ToJson(const JobDescription& about);
// kDataError: the text was not written by ToJson, of this version or an earlier one.
Result<JobDescription> ParseJobDescription(const std::string& json);

// A checkpoint whose description has been parsed. Immutable once made.
struct SavedJob {
  uint64_t run = 0;  // CheckpointState::job
  uint64_t seed = 0;
  uint64_t step = 0;
  JobDescription about;
  std::shared_ptr<const std::vector<float>> parameters;
  uint64_t optimizer_steps = 0;
  std::shared_ptr<const std::vector<float>> optimizer_state;
  // The best version, if it is not the last; otherwise null.
  std::shared_ptr<const std::vector<float>> best;
};

// A version of the parameters with the optimizer's state. Nobody changes either while it is held.
// The last holder must release it on the loop thread, because its memory is then reused.
struct ModelSnapshot {
  std::shared_ptr<const std::vector<float>> parameters;
  uint64_t optimizer_steps = 0;
  std::shared_ptr<const std::vector<float>> optimizer_state;
  ValidationState validation;  // The caller fills it in, as of this version.
};
using SnapshotDone = std::function<void(Result<ModelSnapshot>)>;

// kDataError when the description does not fit the numbers, or they are not finite.
Result<SavedJob> Understand(const CheckpointState& state);

// Loads the newest checkpoint of `store`, or that of `step`. Errors and `notes` are those of
// ReadCheckpoint.
Result<SavedJob> LoadSavedJob(Store& store, std::optional<uint64_t> step = {},
                              std::vector<std::string>* notes = nullptr);

// Checks that run `run` may write checkpoints of steps after `step` into `store`. kConflict names
// checkpoints of another run, or newer ones of this run, which would stay the newest. If `run` is
// 0, every run is another one.
Status CheckBelongs(Store& store, uint64_t run, uint64_t step);

// kConflict when samples with the features and classes of `model` do not have the saved job's
// shape. CheckSameJob checks this first too, but a model that cannot take the parameters should not
// be made.
Status CheckSameShape(const SavedJob& saved, const ModelSpec& model, bool sparse);

// kConflict when the updates of the saved job were made by another optimizer, or by the program
// (`own_rule`) and not by one. Only rates, the L2 term and weight decay may change, because the
// optimizer's state depends on the rest. CheckSameJob checks this, too.
Status CheckSameRule(const JobDescription& saved, const OptimizerOptions& now, bool own_rule);

// kConflict names the first difference between the saved job and `now` (see Describe) or `seed`,
// and what to do. A job with older batches cannot go on, because this release draws others.
Status CheckSameJob(const SavedJob& saved, const JobDescription& now, uint64_t seed);

// The result of a run that resumes from the checkpoint and adds no step.
JobResult ResultOf(const SavedJob& saved);

// The saved model, for a file. kInvalidArgument when the caller brought a trainer instead.
Result<SavedModel> ModelOf(const SavedJob& saved);

}  // namespace motley
