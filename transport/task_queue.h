// SPDX-License-Identifier: Apache-2.0
// Callbacks that are due. Pure; one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "base/loop/loop.h"

namespace motley {

class TaskQueue {
 public:
  void Add(Task task) { tasks_.push_back(std::move(task)); }
  // Runs the tasks that are present at the call, in order. A task may call Run again: the inner
  // call leaves nothing to the outer one, so that "all have run when Close returns" holds inside a
  // task as well.
  void Run() {
    for (size_t count = tasks_.size(); count > 0 && !tasks_.empty(); --count) {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  bool empty() const { return tasks_.empty(); }

 private:
  std::deque<Task> tasks_;
};

}  // namespace motley
