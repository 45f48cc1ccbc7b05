// SPDX-License-Identifier: Apache-2.0
// Decides when a job's state is saved, has a snapshot of it taken, and hands it to the disk. The
// steps go on meanwhile: the parameters of a version are never changed, the optimizer's state is
// copied between two updates, and the rest happens on the disk's thread. One write at a time; a
// failure is told, and the next interval tries again. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/time.h"
#include "checkpoint/store/disk.h"
#include "runtime/alive.h"
#include "runtime/coordinator/saved_job.h"
#include "runtime/coordinator/server_model.h"

namespace motley {

class Checkpointer {
 public:
  // The end of a job waits for its checkpoints as long as the disk takes, and says so this often.
  static constexpr Duration kPatience = std::chrono::seconds(30);

  struct Hooks {
    std::function<void(ServerModel::SnapshotDone)> take;  // ServerModel::TakeSnapshot
    std::function<JobHistory()> history;                  // Up to the newest version.
    std::function<void(uint64_t steps)> safe;             // It may be resumed from.
    std::function<void(const JobNotice&)> notice;
    std::function<void()> idle;  // SaveLast may say something else now.
  };

  // `loop` and `disk` are borrowed; work that was handed to the disk may outlive this object.
  // `about`: the job, without its history. `first`: the version that the run starts with.
  Checkpointer(Loop& loop, Disk& disk, const JobOptions& options, JobDescription about,
               Hooks hooks);
  ~Checkpointer() { loop_.Cancel(patience_); }

  // Version `version` of the parameters is the newest: saved when it is due and nothing else is
  // being written. No update may be in flight.
  void OnVersion(uint64_t version);
  // For the end, as often as wanted: true once `version`, the last, is safe or could not be
  // written. Begins it otherwise; `idle` tells when to ask again. No update may be in flight.
  bool SaveLast(uint64_t version);
  // The same for an end whose state is not to be saved: true once nothing is being written.
  bool Settle();

  uint64_t safe_step() const { return safe_step_; }  // 0: none.
  uint64_t written() const { return written_; }
  uint64_t failures() const { return failures_; }
  const Status& last_failure() const { return last_failure_; }  // Fine: the last try was.
  // Why the newest that is safe is degraded; none: it is whole, or there is none.
  const std::optional<notice::CheckpointDegraded>& weakness() const { return weakness_; }

 private:
  void Begin(uint64_t version);
  void Write(uint64_t version, const ModelSnapshot& snapshot, JobHistory history);
  void OnWritten(uint64_t version, const Status& status, const WrittenCheckpoint& written);
  // Once for each change of what is left out.
  void TellUnlocked(const std::string& folder);
  void TellStrength(uint64_t version, const WrittenCheckpoint& written);
  void OnFailed(uint64_t version, const Status& why);
  bool Wait();
  void OnImpatient();

  Loop& loop_;
  Disk& disk_;
  CheckpointOptions options_;
  uint64_t seed_;
  JobDescription about_;
  Hooks hooks_;
  bool writing_ = false;
  bool told_skip_ = false;
  bool told_unlocked_ = false;
  bool failing_ = false;
  uint64_t tried_;  // The newest version that a write was begun for, or that needs none.
  uint64_t safe_step_;
  uint64_t written_ = 0;
  uint64_t failures_ = 0;
  Status last_failure_;
  std::vector<uint32_t> left_out_;  // Shards of the newest safe one.
  std::optional<notice::CheckpointDegraded> weakness_;
  bool ended_ = false;            // SaveLast or Settle was called.
  std::optional<uint64_t> last_;  // The version of SaveLast.
  TimerId patience_ = 0;          // Set while the end waits.
  Duration waited_{};             // By then.
  Alive alive_;
};

}  // namespace motley
