// SPDX-License-Identifier: Apache-2.0
// The notices of a job to its users, from the scheduler and the server. They are values without
// text, as in scheduler/notice.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/time.h"
#include "scheduler/notice.h"
#include "scheduler/placement/reduction.h"

namespace motley {
namespace notice {

// --- Connections. ---
struct Joined {
  WorkerId worker;
  std::string host;
  std::string device;
};
// A worker that was refused, or a peer that spoke another protocol (no host).
struct JoinRefused {
  std::string name;
  std::string host;
  Status why;
  uint64_t before;  // Refusals since the last notice of one.
};
struct NotReady {  // The worker joined this long ago, and nobody waits for it any more.
  WorkerId worker;
  Duration since;
};
struct Quiet {  // The worker has sent no heartbeat for this long.
  WorkerId worker;
  Duration silence;
};
struct Back {  // The worker has sent a heartbeat after this long.
  WorkerId worker;
  Duration silence;
};
struct Reported {  // The worker reported this itself.
  WorkerId worker;
  Status what;
  uint64_t left_out;  // Earlier reports that were not shown.
};
struct Trouble {  // The server had a problem and goes on.
  Status what;
};

// --- Training. ---
// The mean loss of a step is not finite (none), or far above that of the first step.
struct Diverges {
  StepId step;
  std::optional<double> loss;
  double first;
  double times;  // The limit, as a multiple of the first loss.
};

// The last version could not be judged. The job leaves the best earlier version, or the last one if
// there is none.
struct LastNotJudged {
  Status why;
  std::optional<uint64_t> best;
};

// --- Checkpoints. `safe_step` is the newest safe one; 0: none is. ---
struct CheckpointSkipped {  // The previous checkpoint is still being read or written.
  uint64_t step;
};
struct CheckpointSlow {  // The checkpoint is still being written this long after the job's end.
  uint64_t step;
  Duration waited;
  uint64_t safe_step;
};
struct CheckpointFailed {
  enum class Next { kLater, kLast, kNone };
  uint64_t step;
  Status why;
  Next next;  // The next attempt: a regular one, the last of the job, or none.
  uint64_t safe_step;
};
struct CheckpointsAgain {  // Checkpoints succeed again after failures.
  uint64_t step;
};
struct CheckpointDegraded {
  struct Shard {
    std::string folder;
    Status why;
  };
  uint64_t step;
  uint32_t survives;  // Number of folders that may be lost.
  std::vector<Shard> left_out;
};
struct CheckpointsWhole {  // Checkpoints are whole again after degraded ones.
  uint64_t step;
};
struct CheckpointUnlocked {
  std::string folder;
};
// The job waits for shard servers before its first step.
struct AwaitsShardServers {
  uint32_t joined;
  uint32_t wanted;
  Duration left;
};
struct ShardServerJoined {
  WorkerId node;
  std::string name;  // As users see it from now on.
  std::string host;
};
struct ShardServerLost {
  WorkerId node;
  Status why;
};
// A worker that held parts of the vector does not hold them any more. Others that had followed hold
// them now.
struct ShardsMoved {
  enum class Why : uint8_t {
    kLost,       // The worker was lost.
    kLate,       // It did not answer in time.
    kSlow,       // It held up one update after the other.
    kUnreached,  // Another worker cannot reach it.
  };
  WorkerId lost;
  std::map<uint32_t, WorkerId> owners;  // The new owner of each part.
  Why why = Why::kLost;
};
// A worker that was late, or that joined the running job, holds parts of the vector (again).
struct ShardsGained {
  WorkerId worker;
  uint32_t shards;
};
// The server or others sum the vector, as the measured links suggest.
struct VectorPlaced {
  ReduceChoice choice;
  std::vector<WorkerId> nodes;  // The nodes of the choice, in its order.
  double bytes;                 // Length of the vector.
  // A worker got nothing from another one, which may be unable to connect. The server sums then.
  std::optional<std::pair<WorkerId, WorkerId>> unreached;
};
// `reduce` auto left the vector with the server, and no links were measured for that.
struct StarKept {
  enum class Why : uint8_t {
    kHere,        // All workers are on the server's machine.
    kAlone,       // Only one worker can hold a part.
    kShort,       // Messages of so short a vector take longer than its bytes.
    kNoBarrier,   // Each worker has updates of its own.
    kOwnUpdates,  // The caller makes the updates.
    kUnmeasured,  // The links of the server or of the others could not be measured.
  };
  Why why;
  double bytes;  // Length of the vector.
};
struct CheckpointNote {  // A note about the folders (WrittenCheckpoint::notes).
  std::string text;
};

}  // namespace notice

using JobNotice =
    std::variant<Notice, notice::Joined, notice::JoinRefused, notice::NotReady, notice::Quiet,
                 notice::Back, notice::Reported, notice::Trouble, notice::Diverges,
                 notice::LastNotJudged, notice::CheckpointSkipped, notice::CheckpointSlow,
                 notice::CheckpointFailed, notice::CheckpointsAgain, notice::CheckpointDegraded,
                 notice::CheckpointsWhole, notice::CheckpointUnlocked, notice::ShardsMoved,
                 notice::ShardsGained, notice::VectorPlaced, notice::StarKept,
                 notice::CheckpointNote, notice::AwaitsShardServers, notice::ShardServerJoined,
                 notice::ShardServerLost>;

// Most users want such a notice only on demand, because it explains and needs no action.
inline bool IsDetail(const JobNotice& notice) {
  const auto* star = std::get_if<notice::StarKept>(&notice);
  if (star != nullptr) return star->why == notice::StarKept::Why::kHere;
  const auto* scheduled = std::get_if<Notice>(&notice);
  return scheduled != nullptr && std::holds_alternative<notice::CodeChosen>(*scheduled);
}

}  // namespace motley
