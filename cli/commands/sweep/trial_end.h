// SPDX-License-Identifier: Apache-2.0
// What the end of a trial's `motley train` says about its values. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "cli/run/process.h"

namespace motley {

enum class TrialVerdict {
  kTrained,
  kDiverged,   // With these values. It would diverge again.
  kRefused,    // motley train does not take these values.
  kDisturbed,  // By something else, such as a full disk or a signal. It may work the next time.
};

struct TrialEnd {
  TrialVerdict verdict = TrialVerdict::kTrained;
  double loss = 0;  // Infinite for a trial that was not trained.
  std::optional<double> test_loss, test_accuracy;
  std::string error;             // Empty for a trial that was trained.
  bool whole = true;             // False: it was stopped before it was tested.
  bool lost_checkpoint = false;  // The checkpoint from which it should go on is damaged or missing.
};

// `output` is what the process wrote with --json, and `last_error` the last line of its errors.
TrialEnd EndOfTrial(const ProcessExit& exit, const std::string& output,
                    const std::string& last_error);
// The error of a sweep that stops with the disturbed trial's `message`. The program ends with the
// trial's exit code where that code has a meaning.
Status ErrorOfSweep(const ProcessExit& exit, std::string message);

}  // namespace motley
