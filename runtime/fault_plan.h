// SPDX-License-Identifier: Apache-2.0
// Scripted faults, in the form of the command line: kill:2@step=50, pause:1@step=20,2s,
// slow:0@step=100,5x, nan:1@step=5, lie:1@step=5,-0.5x. The same plan drives simulated and real
// processes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/time.h"

namespace motley {

struct Fault {
  enum class Kind { kKill, kPause, kSlow, kNan, kLie };
  Kind kind = Kind::kKill;
  WorkerId worker = 0;
  StepId step = 0;      // The fault strikes when this step opens.
  Duration duration{};  // For kPause.
  // kSlow: this many times slower than before. kLie: later answers are multiplied by this factor.
  double factor = 1;
};

// kInvalidArgument names the wrong part and shows the right form.
Result<Fault> ParseFault(std::string_view text);
// kInvalidArgument when a worker does not exist or a step is never reached.
Status CheckFaults(const std::vector<Fault>& faults, uint32_t workers, uint64_t steps);
std::string FormatFault(const Fault& fault);

}  // namespace motley
