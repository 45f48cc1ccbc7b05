// SPDX-License-Identifier: Apache-2.0
// S3.8: all schemes on one cluster of unlike workers, undisturbed and with every single worker slow
// or dead.
#include <cmath>
#include <numeric>

#include "fmt/core.h"
#include "sim/reproduce/experiments.h"
#include "sim/reproduce/monte_carlo.h"
#include "sim/reproduce/rows.h"
#include "sim/reproduce/table_schemes.h"

namespace motley {
namespace {

constexpr double kTolerance = 0.05;

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// By place of the fault, the mean over the noise.
std::vector<double> MeanTimes(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                              const TableScheme& scheme, const FaultCase& fault) {
  const auto estimates = MeansOfRuns(
      context, stream, runs, fault.places.size(), [&](Random& random, std::span<double> figures) {
        for (size_t i = 0; i < figures.size(); ++i) {
          figures[i] = scheme.step(DrawSeconds(fault.places[i], random), random);
        }
      });
  std::vector<double> means;
  for (const Estimate& estimate : estimates) means.push_back(estimate.mean);
  return means;
}

void AddStatic(const ReproduceContext& context, const std::vector<TableScheme>& schemes,
               RowList& rows) {
  constexpr uint64_t kRuns = 2000;
  uint64_t stream = 3800;
  for (const TableScheme& scheme : schemes) {
    for (size_t c = 0; c < FaultCases().size(); ++c) {
      const FaultCase& fault = FaultCases()[c];
      stream += 1;
      // As many lost workers as it has copies: it waits for the slow ones, or for ever.
      if ((fault.name == "slow5x2") != (scheme.copies == 3)) continue;
      if (fault.name == "dead" && scheme.copies == 1) continue;
      const double measured = Mean(MeanTimes(context, stream, kRuns, scheme, fault));
      if (scheme.published[c] > 0) {
        rows.Compare(scheme.name, fault.name, scheme.published[c], measured, kTolerance);
      } else {
        rows.Show(scheme.name, fault.name, measured);
      }
    }
  }
}

}  // namespace

Result<ExperimentResult> RunClusterTable(const ReproduceContext& context) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<TableScheme> schemes, StaticSchemes(context.seed));
  RowList rows("S3.8");
  AddStatic(context, schemes, rows);
  for (const FaultCase& fault : FaultCases()) {
    std::vector<double> oracle;
    for (const Slowdowns& place : fault.places) oracle.push_back(Oracle(place));
    constexpr std::array<double, 5> kOracle = {1.00, 1.07, 1.12, 1.15, 1.26};
    rows.Compare("oracle", fault.name, kOracle[&fault - FaultCases().data()], Mean(oracle), 0.01);
  }
  return std::move(rows).Take();
}

}  // namespace motley
