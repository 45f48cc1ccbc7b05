// SPDX-License-Identifier: Apache-2.0
// Compares one job under several codes in a table, for `motley simulate --compare`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// The interval that contains a mean in 19 of 20 cases, by the spread of the seeds' means (Student's
// t).
struct Interval {
  double low = 0, high = 0;
};
std::optional<Interval> MeanInterval(const std::vector<double>& seed_means);  // Empty for one seed.

// A code to compare. "repetition:2" is repetition that tolerates two losses.
struct ComparedCode {
  std::string code;
  std::optional<uint32_t> tolerate;
};
// Parses "none,repetition:2,adaptive". kInvalidArgument: fewer than two codes, a code given twice,
// or a code that cannot tolerate its number of losses.
Result<std::vector<ComparedCode>> ParseCompared(std::string_view text);

// Results of one code over all seeds.
struct ComparedRun {
  std::string name;  // "repetition", or with its tolerance where it was given.
  std::string code;
  uint32_t tolerate = 0;
  std::vector<double> step_seconds;  // Steps of all seeds.
  std::vector<double> seed_means;    // Mean seconds of a step, by seed.
  uint64_t discarded_steps = 0;
  uint32_t tolerate_at_end = 0;  // Tolerance of the final plan, which may be less.
  std::string note = "";         // A line below the table; empty: none.

  double MeanSeconds() const;
};

struct Comparison {
  std::string cluster;
  uint64_t steps = 0;             // Steps of each seed.
  uint64_t counted_from = 0;      // First counted step; a job learns speeds in earlier ones.
  double ideal_seconds = 0;       // Time of a perfect step.
  std::vector<ComparedRun> runs;  // The first is the baseline.
};

// Less important columns are omitted if lines would be longer than `columns`; 0: no limit.
std::string CompareTable(const Comparison& comparison, size_t columns = 0);
std::string CompareJson(const Comparison& comparison);
std::string CompareSvg(const Comparison& comparison);

}  // namespace motley
