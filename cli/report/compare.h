// SPDX-License-Identifier: Apache-2.0
// `motley simulate --compare`: the same job under several codes, in one table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// Between which a mean lies in 19 of 20 cases, by how the seeds' own means differ (Student's t).
struct Interval {
  double low = 0, high = 0;
};
std::optional<Interval> MeanInterval(const std::vector<double>& seed_means);  // Nothing: one seed.

// What is compared: "repetition:2" is repetition that tolerates two.
struct ComparedCode {
  std::string code;
  std::optional<uint32_t> tolerate;
};
// "none,repetition:2,adaptive"; kInvalidArgument unless there are two, each another one, or when
// one of them is to tolerate what it cannot.
Result<std::vector<ComparedCode>> ParseCompared(std::string_view text);

// One of them, all seeds together.
struct ComparedRun {
  std::string name;  // "repetition", or with its tolerance where it was given.
  std::string code;
  uint32_t tolerate = 0;
  std::vector<double> step_seconds;  // Of all seeds.
  std::vector<double> seed_means;    // Mean seconds of a step, by seed.
  uint64_t discarded_steps = 0;
  uint32_t tolerate_at_end = 0;  // What its plan came to, which may be less.
  std::string note = "";         // A line of its own; empty: nothing is to be said.

  double MeanSeconds() const;
};

struct Comparison {
  std::string cluster;
  uint64_t steps = 0;             // Of each seed;
  uint64_t counted_from = 0;      // those from this one on count: before, a job learns speeds.
  double ideal_seconds = 0;       // Of a step.
  std::vector<ComparedRun> runs;  // The first is what the others are compared with.
};

// Columns that can be missed are left out where lines would be longer than `columns`; 0: all are
// there.
std::string CompareTable(const Comparison& comparison, size_t columns = 0);
std::string CompareJson(const Comparison& comparison);
std::string CompareSvg(const Comparison& comparison);

}  // namespace motley
