// SPDX-License-Identifier: Apache-2.0
// The production Loop: one libuv loop, one thread. It is the only real clock, precise to
// microseconds.
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
  // Must be destroyed after everything that uses it. Waiting tasks are dropped; open handles are
  // closed.
  ~UvLoop() override;

  Time Now() const override;
  TimerId After(Duration delay, Task task) override;
  void Cancel(TimerId id) override;
  void Post(Task task) override;

  // Runs on the caller's thread until Stop. This thread becomes the loop thread. An exception of a
  // task, a timer or a callback of the transport leaves Run at the end of this turn.
  void Run();
  // In a task on the loop, makes Run return after this turn. Before Run, makes Run return at once.
  // Waiting tasks run when Run is called again.
  void Stop();

  // When memory ran out, `told` runs on the loop thread, and the exception does not leave Run. It
  // has then unwound that call. `told` runs a second time if memory ran out in it as well.
  void SetOutOfMemory(Task told);

  // For the transport and child processes. Its `data` points to a LoopGuard.
  uv_loop_s* handle();

 private:
  UvLoop();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
