// SPDX-License-Identifier: Apache-2.0
// Decides when a job's state is saved, has a snapshot taken, and hands it to the disk. The steps go
// on meanwhile: the parameters of a version never change, the optimizer's state is copied between
// two updates, and the rest happens on the disk's thread. If other nodes hold the vector, they send
// it while steps go on, too. One checkpoint is taken or written at a time, and one that is due
// meanwhile is left out. A failure is reported, and the next interval makes another attempt. Loop
// thread only.
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
#include "runtime/saving/saved_job.h"

namespace motley {

class Checkpointer {
 public:
  // The end of a job waits for its checkpoints as long as the disk takes. This is the interval of
  // its notices.
  static constexpr Duration kPatience = std::chrono::seconds(30);

  struct Hooks {
    std::function<void(SnapshotDone)> take;    // Updater::TakeSnapshot
    std::function<JobHistory()> history;       // The history up to the newest version.
    std::function<void(uint64_t steps)> safe;  // The job may be resumed from here.
    std::function<void(const JobNotice&)> notice;
    std::function<void()> idle;  // SaveLast may give another result now.
    // Ends what `take` began, so that its SnapshotDone does not run. False: it cannot be ended.
    std::function<bool()> stop_taking;
  };

  // `loop` and `disk` are borrowed; work on the disk may outlive this object. `about` is the job
  // without its history. `first` is the version that the run starts with.
  Checkpointer(Loop& loop, Disk& disk, const JobOptions& options, JobDescription about,
               Hooks hooks);
  ~Checkpointer() { loop_.Cancel(patience_); }

  // Version `version` of the parameters is the newest. It is saved if it is due and no other one is
  // being saved. No update may be in flight.
  void OnVersion(uint64_t version);
  // The job has ended and its last version is here, or comes at once. So a version that still comes
  // beside the steps is given up.
  void StopTaking();
  // True once nothing is being saved. `version` is the one that SaveLast will save.
  bool ReadyForLast(uint64_t version);
  // Saves `version`, the last, at the end of a job. The first call begins the write. It returns
  // true once the version is safe or could not be written; `idle` says when to ask again.
  // No update may be in flight.
  bool SaveLast(uint64_t version);
  // Ends without saving. Returns true once nothing is being saved.
  bool Settle();

  uint64_t safe_step() const { return safe_step_; }  // 0: none.
  uint64_t written() const { return written_; }
  uint64_t failures() const { return failures_; }
  const Status& last_failure() const { return last_failure_; }  // Ok if the last attempt succeeded.
  // Why the newest safe checkpoint is degraded; empty if it is whole or there is none.
  const std::optional<notice::CheckpointDegraded>& weakness() const { return weakness_; }

 private:
  enum class Doing : uint8_t { kNothing, kTaking, kWriting };

  void Begin(uint64_t version);
  void Write(uint64_t version, const ModelSnapshot& snapshot, JobHistory history);
  void OnWritten(uint64_t version, const Status& status, const WrittenCheckpoint& written);
  // Notifies once for each change of what is left out.
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
  Doing doing_ = Doing::kNothing;
  bool told_skip_ = false;
  bool told_unlocked_ = false;
  bool failing_ = false;
  uint64_t tried_;  // The newest version whose saving was begun, or that needs none.
  uint64_t safe_step_;
  uint64_t written_ = 0;
  uint64_t failures_ = 0;
  Status last_failure_;
  std::vector<uint32_t> left_out_;  // Shards left out of the newest safe checkpoint.
  std::optional<notice::CheckpointDegraded> weakness_;
  bool ended_ = false;            // SaveLast or Settle was called.
  std::optional<uint64_t> last_;  // The version of SaveLast.
  TimerId patience_ = 0;          // Set while the end waits.
  Duration waited_{};             // How long the end has waited at the next notice.
  Alive alive_;
};

}  // namespace motley
