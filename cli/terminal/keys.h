// SPDX-License-Identifier: Apache-2.0
// Reads keys that are pressed while a job runs in a terminal. The terminal passes on each key at
// once and does not show it. Its settings are restored when the program ends, is stopped (Ctrl-Z)
// or goes to the background. Ctrl-C and Ctrl-Z keep their meaning.
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
    std::function<void()> continued;  // After Ctrl-Z; the contents of the screen have moved.
  };
  // `calls` run on a separate thread. Null: standard input or standard error is not a terminal.
  static std::unique_ptr<Keys> Listen(Calls calls);
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Restores the terminal's settings for good. A signal handler may call it.
  static void Restore();

 private:
  struct Watch;
  explicit Keys(std::unique_ptr<Watch> watch);
  std::unique_ptr<Watch> watch_;
};

}  // namespace motley
