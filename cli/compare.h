// SPDX-License-Identifier: Apache-2.0
// `motley simulate --compare`: the same job under several codes, in one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace motley {

// What is compared: "repetition:2" is repetition that tolerates two.
struct ComparedCode {
  std::string code;
  std::optional<uint32_t> tolerate;
};
// "none,repetition:2,adaptive"; kInvalidArgument unless there are two, each another one.
Result<std::vector<ComparedCode>> ParseCompared(std::string_view text);

// One of them, all seeds together.
struct ComparedRun {
  std::string name;  // "repetition", or with its tolerance where it was given.
  std::string code;
  uint32_t tolerate = 0;
  std::vector<double> step_seconds;  // Of all seeds.
  std::vector<double> seed_means;    // Mean seconds of a step, by seed.
  uint64_t discarded_steps = 0;

  // Between which the mean lies, in 19 of 20 cases, by how the seeds differ (Student's t).
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> MeanInterval() const;  // Nothing: one seed says nothing.
  double MeanSeconds() const;
};

struct Comparison {
  std::string cluster;
  uint64_t steps = 0;             // Of each seed;
  uint64_t counted_from = 0;      // those from this one on count: before, a job learns speeds.
  double ideal_seconds = 0;       // Of a step.
  std::vector<ComparedRun> runs;  // The first is what the others are compared with.
};

std::string CompareTable(const Comparison& comparison);
std::string CompareJson(const Comparison& comparison);
std::string CompareSvg(const Comparison& comparison);

}  // namespace motley
