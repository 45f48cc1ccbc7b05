// SPDX-License-Identifier: Apache-2.0
// Keys that are pressed while a job runs in a terminal. The terminal hands each over at once and
// does not show it; its settings come back when the program ends, is stopped (Ctrl-Z) or goes to
// the background. Ctrl-C and Ctrl-Z mean what they always do.
#pragma once

#include <functional>
#include <memory>

namespace motley {

// One at a time, made and destroyed on the main thread.
class Keys {
 public:
  struct Calls {
    std::function<void(char)> pressed;
    std::function<void()> tick;       // Twice a second.
    std::function<void()> continued;  // After Ctrl-Z: what was on the screen has moved.
  };
  // `calls` come from a thread of its own. Null: standard input or standard error is no terminal.
  static std::unique_ptr<Keys> Listen(Calls calls);
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Brings the terminal's settings back, and they stay. A signal handler may call it, too.
  static void Restore();

 private:
  struct Watch;
  explicit Keys(std::unique_ptr<Watch> watch);
  std::unique_ptr<Watch> watch_;
};

}  // namespace motley
