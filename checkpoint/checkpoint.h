// SPDX-License-Identifier: Apache-2.0
// Checkpoints: a job's state as k + m shard files, node-00/ to node-(k+m-1)/, one folder each, so
// that folders can be nodes. Any m folders may be lost; of those that are left, any m - lost blocks
// of each stripe may be damaged. docs/decisions/0006-checkpoint-format.md is the format.
//
// All functions block and take memory for a stripe (k + m blocks of at most 1 MiB) besides the
// state itself: call them through Disk. Any thread, one at a time per store. Those that write take
// Store::Lock: kConflict while another program writes into the folder.
//
// A file that cannot be read is not damaged: reading goes around it as if it were, but where that
// is not enough, the answer is kResource (or kPermission), and nothing is removed or moved for it.
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

// Everything that is needed to go on as if nothing had happened.
struct CheckpointState {
  // The training run, for all of its life: drawn at its first start, kept on resume. A folder holds
  // one run's checkpoints, so that none is taken for, or deleted as, another's.
  uint64_t job = 0;
  uint64_t step = 0;  // Committed steps: the parameters are version `step`.
  uint64_t seed = 0;
  std::string description;  // JSON (model, options, metrics), opaque here; at most 64 MiB.
  std::shared_ptr<const std::vector<float>> parameters;  // Neither null.
  uint64_t optimizer_steps = 0;
  std::shared_ptr<const std::vector<float>> optimizer_state;
};

struct CheckpointCode {
  uint32_t data = 4;    // k: shards needed.
  uint32_t parity = 2;  // m: shards that may be lost.
  ErasureTechnique technique = ErasureTechnique::kVandermonde;
};

// "4+2", "cauchy:10+4", "vandermonde:6+3". At most 100 shards, at least 1 + 0.
Result<CheckpointCode> ParseCheckpointCode(std::string_view text);
std::string ToText(const CheckpointCode& code);

struct CheckpointKeep {
  // Checkpoints left once a new one is verified, with it; at least 1. Besides them stays each older
  // one that survives more losses than all newer ones do.
  uint32_t newest = 2;
};

// A shard that a checkpoint was written without.
struct LeftOutShard {
  uint32_t shard = 0;
  std::string folder;  // For people.
  Status why;
};

// What became of a write that succeeded.
struct WrittenCheckpoint {
  std::vector<LeftOutShard> left_out;  // By shard; empty: it is whole.
  uint32_t survives = 0;               // Shards that may be lost from now on.
  std::vector<std::string> notes;      // Lines for users, about what was in the way.
  std::string unlocked;                // The folder that could not be locked; empty: it was.
};

// "survives 1 more loss".
std::string SurvivesText(uint32_t losses);

// Returns once the checkpoint is acknowledged: its shards written beside, synced, renamed, their
// folders synced, then read back and found right. Shards whose folders fail in any of that are left
// out, as many as the code can spare (m). Only then do older ones than `keep` go. The same
// checkpoint, if it is there already, is repaired if need be, and acknowledged. What is in the way
// and cannot be restored (another job's, this job's of a newer step or of this one) is kept under
// other names, this job's of a newer step also if it can only not be read. `written` may be null.
// kConflict: what can be restored is in the way: another job's, a newer step's, or of this step
// with other content; it is named. kResource: disks full or failing, or what is there of this step
// cannot be read; kDataError: what was read back is not what was written; each of more shards than
// can be spared. After any failure the checkpoints that were acknowledged before are untouched
// (newer ones than the job went on from aside), and nothing of this one stays, but what cannot be
// removed any more.
Status WriteCheckpoint(Store& store, const CheckpointCode& code, const CheckpointState& state,
                       const CheckpointKeep& keep = {}, WrittenCheckpoint* written = nullptr);

// Before a job starts: whether `job` (0: a new one) may write steps after `step` into the store.
// Changes nothing but takes the lock. Errors are those of WriteCheckpoint; and a folder that cannot
// be listed may hold another's checkpoint, as long as none of `job`'s is seen beside it.
Status CheckWritable(Store& store, uint64_t job, uint64_t step);

// The given step, or the newest. Bit-exact or not at all. What an interrupted write left (fewer
// than k shard files, each with its mark) is passed over; any other that cannot be restored is not,
// be it that nothing is left of it but a file without a readable header: an older
// one is taken only by its step, which the error names. kNotFound: there is none; kNotDecodable:
// too much is lost or damaged, naming the shards and blocks; kResource: it might be restored if the
// disk could be read. `notes` gets lines for people: what was rebuilt, what was passed over and
// why.
Result<CheckpointState> ReadCheckpoint(Store& store, std::optional<uint64_t> step = {},
                                       std::vector<std::string>* notes = nullptr);

// What the headers say; blocks are not read.
struct CheckpointInfo {
  uint64_t job = 0;
  uint64_t step = 0;
  uint64_t seed = 0;
  std::string id;  // 32 hexadecimal digits: a hash of the content.
  CheckpointCode code;
  uint64_t description_bytes = 0;
  uint64_t parameters = 0;               // Floats.
  uint64_t optimizer_state = 0;          // Floats.
  uint64_t shard_bytes = 0;              // Each.
  std::vector<uint32_t> missing_shards;  // No file, a wrong size or an unreadable header.
  // At least k shard files are there, as far as headers say. Only VerifyCheckpoint reads blocks.
  bool restorable = false;
  uint32_t survives = 0;  // How many more shards may be lost; by headers too.
};

// Newest first. Leftovers of interrupted writes that lack a single readable header are not listed.
Result<std::vector<CheckpointInfo>> ListCheckpoints(Store& store);

struct ShardReport {
  uint32_t shard = 0;
  std::string path;     // For people: where it is, or should be.
  std::string problem;  // What is wrong with the file as a whole: "missing"; empty: nothing.
  // Stripe numbers; empty when the file is missing. Of parity also what is right by itself, but
  // not of this data.
  std::vector<uint64_t> damaged_blocks;
  Status read_error;  // The first that some of it could not be read for.

  bool healthy() const { return problem.empty() && damaged_blocks.empty(); }
};

struct VerifyReport {
  CheckpointInfo info;
  std::vector<ShardReport> shards;     // k + m.
  uint64_t stripes = 0;                // Blocks per shard.
  std::vector<uint64_t> lost_stripes;  // More than m blocks lost or damaged; see `lost`.
  // How many those are. They may be more than lost_stripes names, since a header can claim any
  // number: of those behind the end of every file only the first is in there.
  uint64_t lost = 0;
  Status read_error;      // The first of all shards; what could not be read counts as damaged.
  uint32_t survives = 0;  // How many more shards may be lost; 0 as well if it is lost already.

  bool healthy() const;     // Nothing to repair.
  bool restorable() const;  // lost_stripes is empty.
  // What it means, then a line for each shard that is not healthy.
  std::string ToText() const;
};

// Reads every byte. The newest when `step` is not given. kNotFound when there is no such
// checkpoint; damage is a report, not an error.
Result<VerifyReport> VerifyCheckpoint(Store& store, std::optional<uint64_t> step = {});

// Rebuilds lost and damaged shards in their folders, atomically each, and verifies. Returns what
// was wrong before. kNotDecodable, changing nothing, when more is lost than the code can give back:
// its message is the report; kResource when the disk could not be read for it. Where a folder
// fails, its error names the shards that were not rebuilt; the others were.
Result<VerifyReport> RepairCheckpoint(Store& store, std::optional<uint64_t> step = {});

}  // namespace motley
