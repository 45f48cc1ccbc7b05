// SPDX-License-Identifier: Apache-2.0
// Shows the phases of a measuring command on stderr: a percentage that is redrawn in place in a
// terminal, or one plain line per phase.
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
  // Ends the phase with its result, as a separate line. Not shown in a terminal.
  void Finish(const std::string& how);
  void Erase();  // Before other output on stderr.

 private:
  const ProgressStyle style_;
  std::string what_;
  bool drawn_ = false;
};

}  // namespace motley
