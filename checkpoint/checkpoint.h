// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a job's state as k + m shard files, in the folders node-00/ to node-(k+m-1)/, so
// that each folder can be a node. Any m folders may be lost. If l of them are, any m - l blocks of
// each stripe may be damaged besides. docs/decisions/0006-checkpoint-format.md describes the
// format.
//
// All functions block, so call them through Disk. They allocate one stripe (k + m blocks of at most
// 1 MiB) besides the state itself. Any thread, one at a time per store. Functions that write take
// Store::Lock and return kConflict while another program writes into the folder.
//
// A file that cannot be read is not damaged. Reading goes around it as if it were. If that is not
// enough, the result is kResource (or kPermission), and nothing is removed or moved.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/erasure/erasure_code.h"
#include "checkpoint/store/store.h"

namespace motley {

// The complete state of a job, from which it continues exactly.
struct CheckpointState {
  // Identifies the training run for its whole life: drawn at its first start, kept on resume. A
  // folder holds one run's checkpoints, so that none is taken for, or deleted as, another run's.
  uint64_t job = 0;
  uint64_t step = 0;  // Committed steps; the parameters are version `step`.
  uint64_t seed = 0;
  std::string description;  // JSON (model, options, metrics), opaque here; at most 64 MiB.
  std::shared_ptr<const std::vector<float>> parameters;  // Neither pointer is null.
  uint64_t optimizer_steps = 0;
  std::shared_ptr<const std::vector<float>> optimizer_state;
};

struct CheckpointCode {
  uint32_t data = 4;    // k: shards that are needed.
  uint32_t parity = 2;  // m: shards that may be lost.
  ErasureTechnique technique = ErasureTechnique::kVandermonde;
};

// Parses "4+2", "cauchy:10+4" or "vandermonde:6+3". At most 100 shards, at least 1 + 0.
Result<CheckpointCode> ParseCheckpointCode(std::string_view text);
std::string ToText(const CheckpointCode& code);

struct CheckpointKeep {
  // Number of checkpoints that stay once a new one is verified, including it; at least 1. An older
  // one also stays if it survives more losses than all newer ones.
  uint32_t newest = 2;
};

// A shard that was left out of a checkpoint.
struct LeftOutShard {
  uint32_t shard = 0;
  std::string folder;  // Full path, for messages.
  Status why;
};

// Result of a successful write.
struct WrittenCheckpoint {
  std::vector<LeftOutShard> left_out;  // By shard; empty: the checkpoint is whole.
  uint32_t survives = 0;               // Number of shards that may still be lost.
  std::vector<std::string> notes;      // Lines for users about files that were in the way.
  std::string unlocked;                // Folder that could not be locked; empty: all were.
};

// A text like "survives 1 more loss".
std::string SurvivesText(uint32_t losses);

// Writes a checkpoint and returns once it is acknowledged: its shards were written beside their
// names, synced and renamed, their folders synced, and all was read back correctly. A shard whose
// folder fails is left out, as long as the code can spare it (at most m). Only then are older
// checkpoints beyond `keep` deleted.
//
// If the same checkpoint exists already, it is repaired if necessary, and acknowledged. Files in
// the way that cannot be restored are renamed: another job's, and this job's of a newer step or of
// this one. A newer step of this job is renamed even if it may be intact but cannot be read.
// `written` may be null.
//
// kConflict: a checkpoint in the way can be restored, and the error names it: another job's, a
// newer step, or this step with other content. kResource: disks are full or failing, or this step's
// files cannot be read. kDataError: reading back gave other data. The last two are errors only if
// more shards fail than can be spared. After a failure, earlier acknowledged checkpoints are
// unchanged. Only checkpoints newer than the one that the job resumed from may have been renamed.
// The new checkpoint's files are removed as far as possible.
Status WriteCheckpoint(Store& store, const CheckpointCode& code, const CheckpointState& state,
                       const CheckpointKeep& keep = {}, WrittenCheckpoint* written = nullptr);

// Checks before a job starts that `job` (0: a new one) may write steps after `step` into the store.
// Changes nothing except for taking the lock. Errors are those of WriteCheckpoint. In addition, a
// folder that cannot be listed may hold another job's checkpoint, unless one of `job`'s is found
// beside it.
Status CheckWritable(Store& store, uint64_t job, uint64_t step);

// Reads the given step, or the newest, bit-exact or not at all. Files of an interrupted write
// (fewer than k shard files, each with its mark) are passed over. Any other checkpoint that cannot
// be restored is an error, even if only a file without a readable header is left of it. The error
// names an older step that can be restored; pass that step to read it.
//
// kNotFound: there is none. kNotDecodable: too much is lost or damaged; names the shards and
// blocks. kResource: it might be restored if the disk could be read. `notes` gets lines for the
// user: what was rebuilt, and what was passed over and why.
Result<CheckpointState> ReadCheckpoint(Store& store, std::optional<uint64_t> step = {},
                                       std::vector<std::string>* notes = nullptr);

// A summary from the headers; blocks are not read.
struct CheckpointInfo {
  uint64_t job = 0;
  uint64_t step = 0;
  uint64_t seed = 0;
  std::string id;  // 32 hexadecimal digits: a hash of the content.
  CheckpointCode code;
  uint64_t description_bytes = 0;
  uint64_t parameters = 0;       // Number of floats.
  uint64_t optimizer_state = 0;  // Number of floats.
  uint64_t shard_bytes = 0;      // Size of each shard file.
  // Shards with no file, a wrong size or an unreadable header.
  std::vector<uint32_t> missing_shards;
  // True if at least k shard files look usable by their headers and sizes. Only VerifyCheckpoint
  // reads blocks.
  bool restorable = false;
  uint32_t survives = 0;  // Shards that may still be lost, by headers.
};

// Lists checkpoints, newest first. Leftovers of interrupted writes without any readable header are
// not listed.
Result<std::vector<CheckpointInfo>> ListCheckpoints(Store& store);

struct ShardReport {
  uint32_t shard = 0;
  std::string path;     // Full path, for messages; the file may be missing.
  std::string problem;  // Problem of the file as a whole, like "missing"; empty: none.
  // Stripe numbers; empty if the file is missing. They include parity that is intact but does not
  // belong to this data.
  std::vector<uint64_t> damaged_blocks;
  Status read_error;  // First error while reading the shard.

  bool healthy() const { return problem.empty() && damaged_blocks.empty(); }
};

struct VerifyReport {
  CheckpointInfo info;
  std::vector<ShardReport> shards;  // All k + m shards.
  uint64_t stripes = 0;             // Blocks per shard.
  // Stripes with more than m blocks lost or damaged; see `lost`.
  std::vector<uint64_t> lost_stripes;
  // Number of lost stripes. It may exceed the size of lost_stripes, since a header can claim any
  // number: of the stripes beyond the end of every file only the first is listed.
  uint64_t lost = 0;
  Status read_error;  // First of all shards' read errors. Unreadable blocks count as damaged.
  // Shards that may still be lost; 0 also if the checkpoint is lost already.
  uint32_t survives = 0;

  bool healthy() const;     // Nothing needs repair.
  bool restorable() const;  // lost_stripes is empty.
  // A summary, then a line for each shard that is not healthy.
  std::string ToText() const;
};

// Reads every byte of a checkpoint, by default of the newest. kNotFound: there is no such
// checkpoint. Damage is reported and is not an error.
Result<VerifyReport> VerifyCheckpoint(Store& store, std::optional<uint64_t> step = {});

// Rebuilds lost and damaged shards in their folders, each atomically, and verifies. Returns the
// report from before. kNotDecodable, without changes: more is lost than the code can restore; the
// message is the report. kResource: the disk could not be read. If a folder fails, the error names
// the shards that were not rebuilt; the others were.
Result<VerifyReport> RepairCheckpoint(Store& store, std::optional<uint64_t> step = {});

}  // namespace motley
