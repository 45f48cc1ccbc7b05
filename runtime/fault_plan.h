// SPDX-License-Identifier: Apache-2.0
// Scripted faults, in the form of the command line: pause:1@step=20,2s. The same plan drives
// simulated and real processes.
#pragma once

#include <optional>
#include <span>
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

// A kind of fault on the command line. Parser, --help and its topic read the list of forms.
struct FaultForm {
  Fault::Kind kind;
  const char* name;
  const char* example;
  const char* effect;  // What the example does.
  // Sets the fault from what follows the comma (none: there is no comma). Returns what is wrong;
  // empty: nothing.
  std::string (*read)(std::optional<std::string_view> amount, Fault& fault);
  std::string (*format)(const Fault& fault);  // The inverse; empty: no comma.
};
std::span<const FaultForm> FaultForms();
// The examples of all forms: "kill:2@step=50, pause:1@step=20,2s or ...".
std::string FaultExamples();

// kInvalidArgument names the wrong part and shows the right form.
Result<Fault> ParseFault(std::string_view text);
// kInvalidArgument when a worker does not exist or a step is never reached.
Status CheckFaults(const std::vector<Fault>& faults, uint32_t workers, uint64_t steps);
std::string FormatFault(const Fault& fault);

}  // namespace motley
