// SPDX-License-Identifier: Apache-2.0
// A child process of `motley run`. It is the first of a process group of its own, so that Ctrl-C
// reaches `motley run` alone, and its own children end with it. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/uv_loop.h"

namespace motley {

struct ProcessExit {
  int64_t code = 0;
  int signal = 0;  // 0: it ended by itself.

  bool failed() const { return code != 0 || signal != 0; }
  std::string Text() const;  // "with exit code 3", "by signal 9 (Killed)"
  int ShellCode() const;     // 128 + signal for signals.
};

// The variables of this process, with those of `more` ("NAME=value") in place of its own. Those
// from which a process learns its role in a job are left out.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& more);
// The path of the running program, even if its file was replaced meanwhile (its old path then names
// no file). Inside a tool that runs programs, such as valgrind, the link leads to the tool.
std::string ThisProgram();

struct ProcessOptions {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // All variables: "NAME=value".
  // Standard input: this text, and then nothing until CloseInput; nullptr: empty from the start.
  const std::string* input = nullptr;
  bool inherits_input = false;  // Reads standard input of this process.
  // Gets each line of standard output and standard error. Null: both are those of this process.
  // A line that overwrites itself, like a progress bar, counts as its last state.
  std::function<void(std::string_view line, bool error)> line;
};

class Process {
 public:
  using Ended = std::function<void(const ProcessExit&)>;

  // kResource: no process could be started. A command that does not exist ends with exit code 127.
  // `ended` runs once, after all lines.
  static Result<std::unique_ptr<Process>> Start(UvLoop& loop, const ProcessOptions& options,
                                                Ended ended);
  ~Process();  // Kills what still runs, and calls nothing back.
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool running() const;
  void Signal(int number);  // To the process and its children.
  void CloseInput();

 private:
  struct Impl;
  explicit Process(Impl* impl) : impl_(impl) {}
  Impl* impl_;  // Frees itself when libuv has closed its handles.
};

}  // namespace motley
