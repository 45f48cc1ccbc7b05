// SPDX-License-Identifier: Apache-2.0
// Experiments on gradient coding that `motley reproduce` repeats. Each figure stands beside a
// reference and the kind of that reference. Pure arithmetic on fixed seeds: the same rows on every
// machine, with any number of threads.
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

// Kinds of reference figures. The first three were published by others. A statement comes without
// the settings that it holds in.
enum class ReferenceKind {
  kPaper,          // A table or a figure of a paper, cited with its number.
  kArtefact,       // A file of results that the authors ship, cited with its figure.
  kStatement,      // A sentence of a paper's abstract, or of an announcement of its authors.
  kAuthorsCode,    // Output of the authors' code when we ran it.
  kFormula,        // A closed form.
  kOurSimulation,  // An earlier simulation of this project.
};
bool IsPublished(ReferenceKind kind);
// Text of one or two words: "paper", "artefact", "statement", "authors' code", "formula", "our
// simulation".
const char* KindName(ReferenceKind kind);

struct Reference {
  ReferenceKind kind = ReferenceKind::kOurSimulation;
  std::string source;  // The citation, or what was computed.
  double value = 0;
  // The end of a range that begins at `value`; empty: one value.
  std::optional<double> up_to = std::nullopt;
};

// The value of the reference, or the value of its range that is nearest to `measured`.
double NearestIn(const Reference& reference, double measured);

// One figure. With a reference, `tolerance` is relative, in both directions, and `pass` says that
// the measured figure lies within it. Without a reference, `tolerance` is the bound that passes. It
// is nullopt if there is no bound (times on this machine, figures for comparison, and those that
// differ from a stated range).
struct ReproducedRow {
  std::string experiment;
  std::string scheme;
  std::string setting;
  std::optional<Reference> reference;
  double measured = 0;
  std::optional<double> tolerance;
  bool pass = true;
};

// All members must outlive the run.
struct ReproduceContext {
  uint64_t seed = 1;
  // Fraction of the full number of random runs. Exact computations ignore it.
  double effort = 1;
  ParallelFor* parallel = nullptr;
  // Folder with `traces/lambda256.csv.gz`; empty: none.
  std::string data;
  // Seconds since any fixed moment, for rows with times; empty: those rows are left out.
  std::function<double()> clock;
};

struct ExperimentResult {
  std::vector<ReproducedRow> rows;
  // Notes for the user, a sentence or two each: assumptions, and why figures differ.
  std::vector<std::string> notes;
};

struct Experiment {
  const char* name;    // "A1"
  const char* shows;   // One line.
  const char* source;  // Source of the schemes. Each row names the source of its figure.
  bool needs_data;     // kNotFound without ReproduceContext::data or its file.
  Result<ExperimentResult> (*run)(const ReproduceContext& context);
};

// All experiments, in the order in which they run.
std::span<const Experiment> Experiments();

// Finds an experiment by name, ignoring case; nullptr if there is none.
const Experiment* FindExperiment(std::string_view name);

}  // namespace motley
