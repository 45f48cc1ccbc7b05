// SPDX-License-Identifier: Apache-2.0
// Ends a job that nobody watches when its open step makes no progress (JobOptions::step_limit).
// Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/time.h"

namespace motley {

// The limit is counted in quarters of it: a quarter counts when the loop ran and found no progress.
// So a server that was paused itself gives its workers at least three quarters afterwards, and the
// job ends after 1 to 1.25 limits without progress.
class StepWatch {
 public:
  // Bytes that wait to be sent to workers: when they become fewer, that is progress, too.
  using QueuedBytes = std::function<uint64_t()>;

  // `stuck` runs once. A `limit` of zero: never.
  StepWatch(Loop& loop, Duration limit, uint32_t workers, QueuedBytes queued,
            std::function<void()> stuck);
  ~StepWatch() { Stop(); }

  // The watch begins with the first step. A step that is opened again has made no progress by that.
  void Opened(StepId step);
  void Progress() { quiet_quarters_ = 0; }
  // What the worker computes from now on is counted from nothing.
  void Assigned(WorkerId worker) { computed_[worker] = 0; }
  // A worker has computed so many samples of the open step: progress when they are more than
  // before, so that one that repeats itself holds nothing up.
  void Computed(WorkerId worker, uint64_t samples);
  void Stop();

 private:
  void Arm();
  void OnQuarter();

  Loop& loop_;
  Duration limit_;
  QueuedBytes queued_;
  std::function<void()> stuck_;
  std::vector<uint64_t> computed_;  // By worker.
  uint64_t queued_before_ = 0;
  uint64_t next_step_ = 0;  // Steps before it were opened.
  uint32_t quiet_quarters_ = 0;
  TimerId timer_ = 0;  // 0: not watching.
};

}  // namespace motley
