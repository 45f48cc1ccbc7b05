// SPDX-License-Identifier: Apache-2.0
// S3.8: all schemes on one cluster of unequal workers: undisturbed, and with each single worker
// slow or dead.
#include <array>
#include <vector>

#include "coding/schemes.h"
#include "reproduce/experiments.h"
#include "reproduce/rows.h"
#include "reproduce/table_schemes.h"

namespace motley {
namespace {

constexpr double kTolerance = 0.05;
constexpr uint64_t kRuns = 1200;
// Leases use smaller partitions, which cost more to simulate.
constexpr uint64_t kLeaseRuns = 600;
constexpr uint32_t kLeasePartitions = 480;
// Bounds for our scheme: means over all places of the fault, by fault case.
constexpr std::array<double, 5> kAsked = {1.04, 1.10, 1.16, 1.19, 1.36};

// Figures of an earlier simulation by fault case; 0 where it had none.
struct Line {
  const char* name;
  uint32_t copies;
  std::array<double, 5> before;
};
const std::vector<Line>& Lines() {
  static const std::vector<Line> lines = {
      {"none", 1, {1.05, 2.01, 5.01, 0, 0}},
      {"repetition", 2, {}},
      {"cyclic", 2, {5.91, 5.93, 6.10, 6.14, 0}},
      {"heterogeneous", 2, {2.05, 2.15, 2.15, 2.14, 0}},
      {"rs", 2, {}},
      {"group", 2, {}},
      {"multi-message", 2, {1.20, 1.66, 1.77, 1.78, 0}},
      {"partial-coded", 2, {}},
      {"approximate", 2, {}},
      {"repetition", 3, {}},
      {"cyclic", 3, {}},
      {"heterogeneous", 3, {0, 0, 0, 0, 3.21}},
      {"rs", 3, {}},
      {"group", 3, {}},
      {"multi-message", 3, {}},
      {"short", 3, {}},
  };
  return lines;
}

Reference Prototype(double value) {
  return {ReferenceKind::kOurSimulation,
          "a prototype of this project in numpy, the same cluster and faults, messages free",
          value};
}

// Cases with enough copies: two for one fault, three for two. With fewer a step would wait for a
// dead worker forever.
bool Shown(const FaultCase& fault, const std::string& scheme, uint32_t copies) {
  // With three copies, short tolerates one fault and uses the other copy for shorter answers, which
  // are no gain here.
  const Scheme& shown = SchemeNamed(scheme);
  if (shown.has_parts && !shown.lists()) return fault.name != "slow5x2";
  if (copies == 1) return fault.name != "dead";
  return (fault.name == "slow5x2") == (copies == 3);
}

Status AddOthers(const ReproduceContext& context, RowList& rows) {
  uint64_t stream = 3800;
  for (const Line& line : Lines()) {
    TableSchemeOptions options;
    options.copies = line.copies;
    options.seed = context.seed;
    MOTLEY_ASSIGN_OR_RETURN(const TableScheme scheme, MakeTableScheme(line.name, options));
    for (size_t c = 0; c < FaultCases().size(); ++c) {
      const FaultCase& fault = FaultCases()[c];
      stream += 1;
      if (!Shown(fault, line.name, line.copies)) continue;
      const double measured = MeanOf(MeanTimes(context, stream, kRuns, scheme, fault));
      if (line.before[c] > 0) {
        rows.Compare(line.name, fault.name, Prototype(line.before[c]), measured, kTolerance);
      } else {
        rows.Show(line.name, fault.name, measured);
      }
    }
  }
  return Status::Ok();
}

Status AddAdaptive(const ReproduceContext& context, RowList& rows) {
  for (size_t c = 0; c < FaultCases().size(); ++c) {
    const FaultCase& fault = FaultCases()[c];
    TableSchemeOptions options;
    options.copies = fault.name == "slow5x2" ? 3 : 2;
    options.partitions = kLeasePartitions;
    MOTLEY_ASSIGN_OR_RETURN(const TableScheme scheme, MakeTableScheme("adaptive", options));
    rows.AtMost("adaptive", fault.name,
                MeanOf(MeanTimes(context, 3900 + c, kLeaseRuns, scheme, fault)), kAsked[c]);
  }
  return Status::Ok();
}

}  // namespace

Result<ExperimentResult> RunClusterTable(const ReproduceContext& context) {
  RowList rows("S3.8");
  MOTLEY_RETURN_IF_ERROR(AddOthers(context, rows));
  MOTLEY_RETURN_IF_ERROR(AddAdaptive(context, rows));
  rows.Note(
      "speeds 2,2,4,4,8,8,8,12, known to within 4 % (standard deviation, anew in each step); means "
      "over the noise and over the workers that have the fault; slow5x2: three copies, and every "
      "pair");
  rows.Note(
      "every message takes 0.01, which the prototype leaves out for schemes without feedback, "
      "and a death is noticed after 0.02; approximate leaves an error, the others do not");
  return std::move(rows).Take();
}

}  // namespace motley
