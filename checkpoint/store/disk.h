// SPDX-License-Identifier: Apache-2.0
// Runs what blocks on files away from the loop thread, one piece of work after the other.
#pragma once

#include <functional>
#include <memory>

#include "base/loop/loop.h"
#include "base/status.h"
#include "checkpoint/store/store.h"

namespace motley {

// All calls, and `done`, on the loop thread; `work` elsewhere, and never two at once, so it may use
// the store freely but must own everything else that it reads.
class Disk {
 public:
  using Work = std::function<Status(Store&)>;
  using Done = std::function<void(Status)>;
  static constexpr size_t kMostWaiting = 16;

  virtual ~Disk() = default;

  // Work runs in the order of the calls. `done` is called exactly once, never inside Submit: with
  // what `work` returned; with kUnavailable when kMostWaiting pieces of work wait already, and it
  // was not run; from the Disk's destructor, which waits for the one that runs and tells all that
  // was not told, kCancelled for what did not run. The work and all it holds are gone before `done`
  // is called.
  virtual void Submit(Work work, Done done) = 0;
};

// One thread of its own. `loop` and `store` outlive it; nobody else uses the store meanwhile.
// kResource: the system gives no thread.
Result<std::unique_ptr<Disk>> MakeThreadDisk(Loop& loop, Store& store);

}  // namespace motley
