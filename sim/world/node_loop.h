// SPDX-License-Identifier: Apache-2.0
// One simulated process's view of the world's virtual time: it can be stopped and continued like
// SIGSTOP and SIGCONT, and killed.
#pragma once

#include <deque>

#include "base/loop/loop.h"
#include "base/loop/virtual_loop.h"

namespace motley {

// `world` outlives it. What a node owns may outlive its loop's death, but not the loop itself.
class NodeLoop final : public Loop, private VirtualLoop::Owner {
 public:
  explicit NodeLoop(VirtualLoop& world) : world_(world) {}
  ~NodeLoop() override { Kill(); }
  NodeLoop(const NodeLoop&) = delete;
  NodeLoop& operator=(const NodeLoop&) = delete;

  Time Now() const override { return world_.Now(); }
  TimerId After(Duration delay, Task task) override;
  void Cancel(TimerId id) override;
  void Post(Task task) override { After(Duration::zero(), std::move(task)); }

  // While frozen nothing runs; what became due runs at Thaw, in order, before anything later.
  void Freeze() { frozen_ = true; }
  void Thaw();
  // Drops everything that waits, and from now on everything that is asked for.
  void Kill();

  bool frozen() const { return frozen_; }
  bool dead() const { return dead_; }
  size_t pending() const { return pending_; }  // Timers and posts not run yet.

 private:
  struct Late {
    TimerId id = 0;
    Task task;  // Empty when it was cancelled.
  };
  void OnDue(TimerId id, Task& task) override;
  void Drain();

  VirtualLoop& world_;
  bool frozen_ = false;
  bool dead_ = false;
  TimerId drain_ = 0;  // World timer that runs the backlog after a thaw.
  size_t pending_ = 0;
  std::deque<Late> backlog_;  // Due while frozen.
};

}  // namespace motley
