// SPDX-License-Identifier: Apache-2.0
// Decides which trial of a search to train next, and how far. Pure.
//
// A grid has a trial for each combination of values, and a random search draws `trials` of them.
// Both train every trial to its end. ASHA (Li et al., arXiv 1810.05934) begins with
// `first_epochs`. A trial goes on to `keep` times as many epochs when it is among the best 1/keep
// of those that were trained as far, without waiting for the others. With first_epochs 1, keep 3:
//
//   epochs 1: losses 0.9 0.4 0.7 0.8 ... -> the trial with 0.4 goes on when three are done
//   epochs 3: losses 0.3 ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"

namespace motley {

// A range to draw from.
struct DrawnRange {
  double from = 0, to = 0;
  bool logarithmic = false;
  bool whole = false;  // Whole numbers only.
};

// A flag of motley train, without its dashes, and the values to try, as they are typed.
struct TriedFlag {
  std::string name;
  std::variant<std::vector<std::string>, DrawnRange> values;
};

enum class SearchMethod { kGrid, kRandom, kAsha };

struct SearchPlan {
  SearchMethod method = SearchMethod::kGrid;
  std::vector<TriedFlag> flags;
  uint32_t trials = 0;  // Not read for a grid.
  uint32_t epochs = 0;  // Length of a trial that is trained to its end.
  uint32_t first_epochs = 1;
  uint32_t keep = 3;  // At least 2.
  uint64_t seed = 7;
};

// The values of a trial, in the order of SearchPlan::flags.
using TrialValues = std::vector<std::string>;
// One for each trial. They are functions of the plan.
std::vector<TrialValues> ValuesOf(const SearchPlan& plan);
// The number of combinations in a grid.
uint64_t GridSize(const std::vector<TriedFlag>& flags);

class TrialSearch {
 public:
  // Trials are trained until they have had so many epochs, one length after the other.
  struct Run {
    uint32_t trial = 0;
    uint32_t rung = 0;    // Number of its run.
    uint32_t epochs = 0;  // In all, with those of its earlier runs.
  };

  TrialSearch(const SearchPlan& plan, uint32_t trials);

  // Returns the run to start now, or none if nothing is left to start or a run must end first.
  std::optional<Run> Next() const;
  void Started(const Run& run);
  // `loss` is infinite for a run that failed. Also for runs of an earlier search, in any order of
  // trials, but each trial's in theirs.
  void Ended(const Run& run, double loss);
  // No run is under way and none is left.
  bool done() const { return running_ == 0 && !Next(); }
  // Runs that are certain: those that were started, and the first ones of all trials.
  uint32_t known_runs() const;

  uint32_t rungs() const { return static_cast<uint32_t>(lengths_.size()); }
  uint32_t EpochsOf(uint32_t rung) const { return lengths_[rung]; }

 private:
  struct Rung {
    std::vector<std::pair<double, uint32_t>> ended;  // Loss and trial.
    std::vector<bool> began;                         // By trial.
  };
  std::optional<uint32_t> Promoted(uint32_t rung) const;

  const uint32_t trials_;
  const uint32_t keep_;
  std::vector<uint32_t> lengths_;  // Epochs, by rung.
  std::vector<Rung> rungs_;
  uint32_t running_ = 0;
};

}  // namespace motley
