// SPDX-License-Identifier: Apache-2.0
// Ends an unattended job when its open step makes no progress (JobOptions::step_limit). Loop thread
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/time.h"

namespace motley {

// The watch counts quarters of the limit. A quarter counts when the loop ran and found no progress.
// A server that was paused itself therefore gives its workers at least three more quarters, and the
// job ends after 1 to 1.25 limits without progress.
class StepWatch {
 public:
  // Bytes that wait to be sent to workers. A decrease is progress, too.
  using QueuedBytes = std::function<uint64_t()>;

  // `stuck` runs once, or never if `limit` is zero.
  StepWatch(Loop& loop, Duration limit, uint32_t workers, QueuedBytes queued,
            std::function<void()> stuck);
  ~StepWatch() { Stop(); }

  // The watch begins with the first step. Opening a step again is no progress.
  void Opened(StepId step);
  void Progress() { quiet_quarters_ = 0; }
  // The worker's count of samples starts from 0 again.
  void Assigned(WorkerId worker) { computed_[worker] = 0; }
  // A worker has computed this many samples of the open step. This is progress if there are more
  // than before, so repeated work does not delay the end.
  void Computed(WorkerId worker, uint64_t samples);
  void Stop();

 private:
  void Arm();
  void OnQuarter();

  Loop& loop_;
  Duration limit_;
  QueuedBytes queued_;
  std::function<void()> stuck_;
  std::vector<uint64_t> computed_;  // Samples by worker.
  uint64_t queued_before_ = 0;
  uint64_t next_step_ = 0;  // All earlier steps were opened.
  uint32_t quiet_quarters_ = 0;
  TimerId timer_ = 0;  // 0: not watching.
};

}  // namespace motley
