// SPDX-License-Identifier: Apache-2.0
// Published experiments that `motley reproduce` runs again, each beside the published figure.
// Pure arithmetic on pinned seeds: the same rows on every machine, whatever the threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"

namespace motley {

// One figure. With a published one, `tolerance` is relative and `pass` says that the measured one
// lies within it (where the published one is a bound, that it is not above by more). Rows of our
// own have none: `tolerance` is the largest value that passes, and nullopt where nothing is asked
// (times on this machine, figures for comparison).
struct ReproducedRow {
  std::string experiment;
  std::string scheme;
  std::string setting;
  std::optional<double> published;
  double measured = 0;
  std::optional<double> tolerance;
  bool pass = true;
};

// Every member outlives the run.
struct ReproduceContext {
  uint64_t seed = 1;
  // Part of the full number of random runs; what is exact ignores it.
  double effort = 1;
  ParallelFor* parallel = nullptr;
  // Folder with `traces/lambda256.csv.gz`; empty: there is none.
  std::string data;
  // Seconds since any fixed moment, for rows that show times; empty: those rows are left out.
  std::function<double()> clock;
};

struct ExperimentResult {
  std::vector<ReproducedRow> rows;
  // For people: assumptions, and why figures differ where they do. A sentence or two each.
  std::vector<std::string> notes;
};

struct Experiment {
  const char* name;    // "A1"
  const char* shows;   // One line.
  const char* source;  // Who published it: authors, title, venue, which table.
  bool needs_data;     // kNotFound without ReproduceContext::data or the file in it.
  Result<ExperimentResult> (*run)(const ReproduceContext& context);
};

// All of them, in the order in which they run.
std::span<const Experiment> Experiments();

// By name, in any case; nullptr when there is none.
const Experiment* FindExperiment(std::string_view name);

}  // namespace motley
