// SPDX-License-Identifier: Apache-2.0
// What a job reports to users: the scheduler's notices and those of the server around it. Values
// without words, as in scheduler/notice.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/time.h"
#include "scheduler/notice.h"

namespace motley {
namespace notice {

// --- Connections. ---
struct Joined {
  WorkerId worker;
  std::string host;
  std::string device;
};
// A worker that was not let in, or a peer that spoke another protocol (no host).
struct JoinRefused {
  std::string name;
  std::string host;
  Status why;
  uint64_t before;  // Refusals since the last notice of one.
};
struct NotReady {  // It joined so long ago: nobody waits for it any more.
  WorkerId worker;
  Duration since;
};
struct Quiet {  // No heartbeat for so long.
  WorkerId worker;
  Duration silence;
};
struct Back {  // After so long without a heartbeat.
  WorkerId worker;
  Duration silence;
};
struct Reported {  // By the worker itself.
  WorkerId worker;
  Status what;
  uint64_t left_out;  // Reports before it that were not shown.
};
struct Trouble {  // The server had it, and goes on.
  Status what;
};

// --- Training. ---
// The mean loss of a step is not finite (none), or far above that of the first step.
struct Diverges {
  StepId step;
  std::optional<double> loss;
  double first;
  double times;  // Above the first loss: the limit.
};

// The last version could not be judged. The job leaves the best version before it, or the last one
// where there is none.
struct LastNotJudged {
  Status why;
  std::optional<uint64_t> best;
};

// --- Checkpoints. `safe_step`: the newest safe one; 0: none is. ---
struct CheckpointSkipped {  // The one before it is still being written.
  uint64_t step;
};
struct CheckpointSlow {  // Still being written so long after the job's end.
  uint64_t step;
  Duration waited;
  uint64_t safe_step;
};
struct CheckpointFailed {
  enum class Next { kLater, kLast, kNone };
  uint64_t step;
  Status why;
  Next next;  // What is tried next: one in its turn, the last of the job, none.
  uint64_t safe_step;
};
struct CheckpointsAgain {  // After failures.
  uint64_t step;
};
struct CheckpointDegraded {
  struct Shard {
    std::string folder;
    Status why;
  };
  uint64_t step;
  uint32_t survives;  // Folders that may be lost.
  std::vector<Shard> left_out;
};
struct CheckpointsWhole {  // After degraded ones.
  uint64_t step;
};
struct CheckpointUnlocked {
  std::string folder;
};
struct CheckpointNote {  // What the writer met in the folders (WrittenCheckpoint::notes).
  std::string text;
};

}  // namespace notice

using JobNotice =
    std::variant<Notice, notice::Joined, notice::JoinRefused, notice::NotReady, notice::Quiet,
                 notice::Back, notice::Reported, notice::Trouble, notice::Diverges,
                 notice::LastNotJudged, notice::CheckpointSkipped, notice::CheckpointSlow,
                 notice::CheckpointFailed, notice::CheckpointsAgain, notice::CheckpointDegraded,
                 notice::CheckpointsWhole, notice::CheckpointUnlocked, notice::CheckpointNote>;

// Most users want such a notice only on demand: it says why, and not what they must know.
inline bool IsDetail(const JobNotice& notice) {
  const auto* scheduled = std::get_if<Notice>(&notice);
  return scheduled != nullptr && std::holds_alternative<notice::CodeChosen>(*scheduled);
}

}  // namespace motley
