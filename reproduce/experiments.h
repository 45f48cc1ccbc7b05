// SPDX-License-Identifier: Apache-2.0
// The experiments that experiments.cc lists, one file each. The list says what each shows.
#pragma once

#include <functional>

#include "coding/decode/approximate.h"
#include "reproduce/experiment.h"

namespace motley {

Result<ExperimentResult> RunGeneralGradients(const ReproduceContext& context);     // A1
Result<ExperimentResult> RunMatrixProducts(const ReproduceContext& context);       // A2
Result<ExperimentResult> RunPartialStragglers(const ReproduceContext& context);    // A3
Result<ExperimentResult> RunHeterogeneousGain(const ReproduceContext& context);    // A4
Result<ExperimentResult> RunSequentialCodes(const ReproduceContext& context);      // A5
Result<ExperimentResult> RunCorruptedFractions(const ReproduceContext& context);   // A6
Result<ExperimentResult> RunApproximateDecoders(const ReproduceContext& context);  // A7
Result<ExperimentResult> RunDecodingTimes(const ReproduceContext& context);        // A8

// A7 with another decoder in the place of SolveApproximate: for a test that breaks one.
using ApproximateSolver = std::function<Result<ApproximateDecoding>(
    const CodeForm& form, const std::vector<bool>& present)>;
Result<ExperimentResult> RunApproximateDecoders(const ReproduceContext& context,
                                                const ApproximateSolver& solver);

Result<ExperimentResult> RunClusterTable(const ReproduceContext& context);     // S3.8
Result<ExperimentResult> RunClusterExtremes(const ReproduceContext& context);  // S3.9
Result<ExperimentResult> RunRecordedGain(const ReproduceContext& context);     // lambda

Result<ExperimentResult> RunStackedParallelism(const ReproduceContext& context);  // SPARe

}  // namespace motley
