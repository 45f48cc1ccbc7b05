// SPDX-License-Identifier: Apache-2.0
// S3.9: details of the cluster of S3.8: the worst place of a fault, deaths during a step, a link
// that takes one vector at a time, and bounds for every scheme.
#include <algorithm>
#include <vector>

#include "reproduce/experiments.h"
#include "reproduce/rows.h"
#include "reproduce/table_schemes.h"

namespace motley {
namespace {

constexpr uint64_t kRuns = 600;
constexpr double kMostOverOracle = 1.10;   // Times the mean of each place.
constexpr double kMostOverOnePort = 1.12;  // With a link that takes one vector at a time.
constexpr double kLink = 0.01;

TableSchemeOptions Leases() {
  TableSchemeOptions options;
  options.partitions = 480;
  return options;
}

double MeanOverSpeedLeft(const FaultCase& fault) {
  double sum = 0;
  for (const Slowdowns& place : fault.places) {
    double total = 0;
    double left = 0;
    for (size_t i = 0; i < place.size(); ++i) {
      total += TableSpeeds()[i];
      left += TableSpeeds()[i] / place[i];
    }
    sum += total / left;
  }
  return sum / static_cast<double>(fault.places.size());
}

void AddOracle(RowList& rows) {
  for (size_t c = 0; c < FaultCases().size(); ++c) {
    std::vector<double> oracle;
    for (const Slowdowns& place : FaultCases()[c].places) oracle.push_back(Oracle(place));
    rows.Compare("oracle", FaultCases()[c].name,
                 {ReferenceKind::kFormula,
                  "mean over the places of the sum of the speeds / the speed that is left",
                  MeanOverSpeedLeft(FaultCases()[c])},
                 MeanOf(oracle), 1e-9);
  }
}

Status AddWorstPlaces(const ReproduceContext& context, RowList& rows) {
  for (size_t c = 0; c < FaultCases().size(); ++c) {
    const FaultCase& fault = FaultCases()[c];
    TableSchemeOptions options = Leases();
    options.copies = fault.name == "slow5x2" ? 3 : 2;
    MOTLEY_ASSIGN_OR_RETURN(const TableScheme scheme, MakeTableScheme("adaptive", options));
    const auto means = MeanTimes(context, 3900 + c, kRuns, scheme, fault);
    double worst = 0;
    for (size_t i = 0; i < means.size(); ++i) {
      worst = std::max(worst, means[i] / Oracle(fault.places[i]));
    }
    rows.AtMost("adaptive", fault.name + ": worst place, over its oracle", worst, kMostOverOracle);
  }
  return Status::Ok();
}

// A death during the step loses what the worker had summed.
Status AddLateDeaths(const ReproduceContext& context, RowList& rows) {
  TableSchemeOptions options = Leases();
  options.dies_any_time = true;
  MOTLEY_ASSIGN_OR_RETURN(const TableScheme scheme, MakeTableScheme("adaptive", options));
  const auto dead = std::find_if(FaultCases().begin(), FaultCases().end(),
                                 [](const FaultCase& fault) { return fault.name == "dead"; });
  const auto means = MeanTimes(context, 3910, kRuns, scheme, *dead);
  rows.AtMost("adaptive", "dead at any moment", MeanOf(means), 1.25);
  rows.AtMost("adaptive", "dead at any moment: worst place",
              *std::max_element(means.begin(), means.end()), 1.45);
  return Status::Ok();
}

Status AddOnePort(const ReproduceContext& context, RowList& rows) {
  TableSchemeOptions options = Leases();
  options.link = kLink;
  MOTLEY_ASSIGN_OR_RETURN(const TableScheme scheme, MakeTableScheme("adaptive", options));
  for (size_t c = 0; c < FaultCases().size(); ++c) {
    const FaultCase& fault = FaultCases()[c];
    if (fault.name == "slow5x2") continue;
    std::vector<double> oracle;
    for (const Slowdowns& place : fault.places) oracle.push_back(SinglePortOracle(place, kLink));
    const double mean = MeanOf(MeanTimes(context, 3920 + c, kRuns, scheme, fault));
    rows.AtMost("adaptive", fault.name + ", 0.01 per vector: over the single-port optimum",
                mean / MeanOf(oracle), kMostOverOnePort);
  }
  return Status::Ok();
}

}  // namespace

Result<ExperimentResult> RunClusterExtremes(const ReproduceContext& context) {
  RowList rows("S3.9");
  AddOracle(rows);
  MOTLEY_RETURN_IF_ERROR(AddWorstPlaces(context, rows));
  MOTLEY_RETURN_IF_ERROR(AddLateDeaths(context, rows));
  MOTLEY_RETURN_IF_ERROR(AddOnePort(context, rows));
  rows.Note(
      "oracle: divisible work whose data every worker holds. Its figures for the link: "
      "vectors arrive one after the other, the fastest worker's last, and the best number of "
      "workers takes part");
  return std::move(rows).Take();
}

}  // namespace motley
