// SPDX-License-Identifier: Apache-2.0
// What a command that measures is doing, on stderr: a percentage that is drawn over itself in a
// terminal, otherwise a plain line for each phase.
#pragma once

#include <string>

#include "cli/terminal/progress.h"

namespace motley {

class Phases {
 public:
  explicit Phases(bool quiet) : style_(ChooseProgressStyle(quiet)) {}
  ~Phases() { Erase(); }
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;

  void Begin(const std::string& what);
  void Show(double part);
  // What came of it; a line of its own, which a terminal is spared.
  void Finish(const std::string& how);

 private:
  void Erase();

  const ProgressStyle style_;
  std::string what_;
  bool drawn_ = false;
};

}  // namespace motley
