// SPDX-License-Identifier: Apache-2.0
// The loop of one simulated process on the world's virtual time. The process can be frozen and
// thawed, as by SIGSTOP and SIGCONT, and killed.
#pragma once

#include <deque>

#include "base/loop/loop.h"
#include "base/loop/virtual_loop.h"

namespace motley {

// `world` must outlive the loop. Objects that use the loop may outlive Kill, but not the loop.
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

  // While frozen, nothing runs. Tasks that became due run at Thaw, in order, before later ones.
  void Freeze() { frozen_ = true; }
  void Thaw();
  // Drops all waiting tasks, and every task that is added from now on.
  void Kill();

  bool frozen() const { return frozen_; }
  bool dead() const { return dead_; }
  size_t pending() const { return pending_; }  // Timers and posts that have not run.

 private:
  struct Late {
    TimerId id = 0;
    Task task;  // Empty if it was cancelled.
  };
  void OnDue(TimerId id, Task& task) override;
  void Drain();

  VirtualLoop& world_;
  bool frozen_ = false;
  bool dead_ = false;
  TimerId drain_ = 0;  // World timer that runs the backlog after a thaw.
  size_t pending_ = 0;
  std::deque<Late> backlog_;  // Tasks that became due while frozen.
};

}  // namespace motley
