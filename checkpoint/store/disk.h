// SPDX-License-Identifier: Apache-2.0
// Runs blocking file work away from the loop thread, one piece at a time.
#pragma once

#include <functional>
#include <memory>

#include "base/loop/loop.h"
#include "base/status.h"
#include "checkpoint/store/store.h"

namespace motley {

// All calls, and `done`, are on the loop thread. `work` runs elsewhere, never two at once, so it
// may use the store freely. It must own everything else that it reads.
class Disk {
 public:
  using Work = std::function<Status(Store&)>;
  using Done = std::function<void(Status)>;
  static constexpr size_t kMostWaiting = 16;

  virtual ~Disk() = default;

  // Runs work in the order of the calls. `done` is called exactly once, never inside Submit, after
  // the work and all it holds are destroyed. It gets what `work` returned, or one of two errors.
  // kUnavailable: kMostWaiting pieces were waiting, and the work did not run. kCancelled: the Disk
  // was destroyed before the work ran. The destructor waits for the work that is running and calls
  // every `done` that is left.
  virtual void Submit(Work work, Done done) = 0;
};

// A Disk with one thread of its own. `loop` and `store` outlive it, and nothing else uses the store
// meanwhile. kResource: the system cannot create a thread.
Result<std::unique_ptr<Disk>> MakeThreadDisk(Loop& loop, Store& store);

}  // namespace motley
