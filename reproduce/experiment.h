// SPDX-License-Identifier: Apache-2.0
// Experiments on gradient coding that `motley reproduce` runs again, each figure beside a reference
// that says what it is. Pure arithmetic on pinned seeds: the same rows on every machine, whatever
// the threads.
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

// What a reference figure is. Only the first two are published: somebody else printed or shipped
// the figure itself.
enum class ReferenceKind {
  kPaper,     // A table or a figure of a paper, cited with its number.
  kArtefact,  // A file of results that the authors ship, cited with the figure that it is behind.
  kAuthorsCode,    // What the authors' code gave when we ran it.
  kFormula,        // A closed form.
  kOurSimulation,  // An earlier simulation of this project.
};
bool IsPublished(ReferenceKind kind);
// One word or two: "paper", "artefact", "authors' code", "formula", "our simulation".
const char* KindName(ReferenceKind kind);

struct Reference {
  ReferenceKind kind = ReferenceKind::kOurSimulation;
  std::string source;  // The citation, or what was computed.
  double value = 0;
};

// One figure. With a reference, `tolerance` is relative, in both directions, and `pass` says that
// the measured figure lies within it. Without one, `tolerance` is the bound that passes, and
// nullopt where nothing is asked (times on this machine, figures for comparison).
struct ReproducedRow {
  std::string experiment;
  std::string scheme;
  std::string setting;
  std::optional<Reference> reference;
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
  const char* source;  // Whose schemes these are. Each row names where its own figure comes from.
  bool needs_data;     // kNotFound without ReproduceContext::data or the file in it.
  Result<ExperimentResult> (*run)(const ReproduceContext& context);
};

// All of them, in the order in which they run.
std::span<const Experiment> Experiments();

// By name, in any case; nullptr when there is none.
const Experiment* FindExperiment(std::string_view name);

}  // namespace motley
