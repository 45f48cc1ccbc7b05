// SPDX-License-Identifier: Apache-2.0
// A8: computing the decoding vector for 256 workers.
#include <algorithm>
#include <vector>

#include "coding/decode/decoder.h"
#include "coding/gradient_code.h"
#include "coding/placement/straggler_sets.h"
#include "fmt/core.h"
#include "reproduce/experiments.h"
#include "reproduce/rows.h"

namespace motley {
namespace {

constexpr uint32_t kWorkers = 256;
constexpr uint64_t kSets = 40;
// Far above rounding errors, far below an effect on training.
constexpr double kMostResidual = 1e-6;

using Solver = Result<DecodingVector> (*)(const CodeForm&, const std::vector<bool>&,
                                          const DecodeLimits&);

// Median milliseconds of one solve; 0 without a clock. Sets `residual` to the largest |a B - 1|.
Result<double> SolveAll(const ReproduceContext& context, const CodeForm& form, uint64_t sets,
                        Solver solver, double& residual) {
  Random random(context.seed, Stream::kSimulation, 81);
  std::vector<double> seconds;
  for (const auto& missing : StragglerSets(form.workers, form.stragglers, sets, random)) {
    std::vector<bool> present(form.workers, true);
    for (const WorkerId worker : missing) present[worker] = false;
    const double start = context.clock ? context.clock() : 0;
    // The guard on the norm is disabled; it is not measured here.
    MOTLEY_ASSIGN_OR_RETURN(const DecodingVector found,
                            solver(form, present, DecodeLimits{.tolerance = 1e30}));
    seconds.push_back(context.clock ? context.clock() - start : 0);
    residual = std::max(residual, DecodingResidual(form, found.a));
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2] * 1e3;
}

}  // namespace

Result<ExperimentResult> RunDecodingTimes(const ReproduceContext& context) {
  RowList rows("A8");
  for (const uint32_t stragglers : {15U, 27U}) {
    CodeRequest request;
    request.speeds.assign(kWorkers, 1);
    request.partitions = kWorkers;
    request.stragglers = stragglers;
    MOTLEY_ASSIGN_OR_RETURN(const CodeForm form, BuildCode("rs", request));
    const std::string setting = fmt::format("n=256, s={}", stragglers);
    double closed_residual = 0;
    MOTLEY_ASSIGN_OR_RETURN(const double closed,
                            SolveAll(context, form, kSets, &SolveClosed, closed_residual));
    rows.AtMost("closed form", setting + ": largest |aB - 1|", closed_residual, kMostResidual);
    double general_residual = 0;
    MOTLEY_ASSIGN_OR_RETURN(const double general,
                            SolveAll(context, form, 3, &SolveGeneral, general_residual));
    rows.AtMost("least squares", setting + ": largest |aB - 1|", general_residual, kMostResidual);
    if (!context.clock) continue;
    rows.Show("closed form", setting + ": milliseconds", closed);
    rows.Show("least squares", setting + ": milliseconds", general);
  }
  rows.Note(
      "times are this machine's and decide nothing. For comparison, a cell of the authors' "
      "notebook "
      "shows 290 ms for coefficients and combination together (numpy, s=27)");
  return std::move(rows).Take();
}

}  // namespace motley
