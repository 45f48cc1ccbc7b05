// SPDX-License-Identifier: Apache-2.0
// The Loop of production: one libuv loop, one thread. The only real clock, good to microseconds.
#pragma once

#include <memory>

#include "base/loop/loop.h"
#include "base/status.h"

struct uv_loop_s;

namespace motley {

class UvLoop final : public Loop {
 public:
  // kResource when the process has no file descriptors left.
  static Result<std::unique_ptr<UvLoop>> Create();
  // After everything that uses it. Tasks still waiting are dropped; handles still open are closed.
  ~UvLoop() override;

  Time Now() const override;
  TimerId After(Duration delay, Task task) override;
  void Cancel(TimerId id) override;
  void Post(Task task) override;

  // Runs on the caller's thread, which becomes the loop thread, until Stop.
  void Run();
  // From a task on the loop: Run returns after this turn. Before Run: it returns at once. Tasks
  // that still wait run when Run is called again.
  void Stop();

  // `told` runs on the loop thread when memory ran out in a task, a timer or a callback of the
  // transport: what was under way there is undone as exceptions undo it. It runs a second time when
  // memory ran out in it, too. Null: such an exception leaves Run.
  void SetOutOfMemory(Task told);

  // For the transport and child processes. Its data points to a LoopGuard.
  uv_loop_s* handle();

 private:
  UvLoop();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
