// SPDX-License-Identifier: Apache-2.0
// The results of `motley sweep`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace motley {

// One run of a trial.
struct SweptRun {
  uint32_t trial = 0;
  uint32_t rung = 0;
  uint32_t epochs = 0;  // In all.
  std::vector<std::string> values;
  double loss = 0;  // The best on validation samples; infinite if the run failed.
  std::optional<double> test_loss, test_accuracy;
  double seconds = 0;
  std::string error;  // Empty: it did not fail.
};

struct SweepResult {
  std::vector<std::string> names;  // Flags that were tried.
  std::vector<SweptRun> runs;      // All of them.
  uint32_t trials = 0;             // Planned.
  uint32_t epochs = 0;             // A trial that is trained to its end has so many.
  std::string best_command;        // Trains the best trial again.
  std::string best_model;          // Its file.

  // The longest run of each trial. Longer ones come first, and of these the better ones.
  std::vector<SweptRun> Ranked() const;
};

// The best trials, as a table.
std::string SweepTable(const SweepResult& result, size_t columns = 0);  // 0: no limit.
std::string SweepJson(const SweepResult& result);
// For each flag the loss of all runs by the flag's value.
std::string SweepSvg(const SweepResult& result);

}  // namespace motley
