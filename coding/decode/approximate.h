// SPDX-License-Identifier: Apache-2.0
// Decodes whatever arrived, and computes the error that is left. Pure; any thread.
//
// For a set F of answered rows, the coverage of partition j under weights a (zero off F) is
// alpha_j = (a B)_j; exact decoding has alpha = 1 everywhere. The best result that F allows is
// least squares,
//   err(F) = min_a (1/k) ||a B - 1||^2
// (Charles, Papailiopoulos, Ellenberg, arXiv 1711.06771: "optimal decoding"). Its coverage is the
// projection of 1 on the row space of B_F. So the mean coverage is 1 - err, and the sum comes out
// too small.
//
// Unbiased divides by the mean coverage. A step's gradient then has the right expectation if every
// partition has the same expected coverage. One case is samples assigned to partitions at random,
// regardless of which workers fail (the job's shuffle). Another is answers that fail independently
// with one probability, under a code with symmetries that map any partition to any other
// (fractional repetition, cyclic). The gradient is biased if the data is fixed and one worker that
// always fails holds the only copies of some of it.
#pragma once

#include <vector>

#include "base/status.h"
#include "coding/code_form.h"

namespace motley {

struct ApproximateDecoding {
  std::vector<Complex> a;         // n entries, zero on the missing rows.
  std::vector<Complex> coverage;  // alpha = a B, k entries.
  double error = 0;               // (1/k) ||a B - 1||^2; 0 is exact, 1 if there is no answer.
  double mean_coverage = 0;       // (1/k) sum_j (a B)_j, the real part.
};

// All functions below return kInvalidArgument when `present` does not have one flag per row.
// Without any answer they return a decoding of error 1.

// The least error for any B; of all such `a` the one of least norm. O(k' n^2), where k' counts the
// runs of partitions with the same rows and coefficients. With more than 128 rows it iterates to
// 1e-12, in O(n) times the entries of all runs.
Result<ApproximateDecoding> SolveLeastSquares(const CodeForm& form,
                                              const std::vector<bool>& present);

// The least error if rows are either copies of one another or disjoint (fractional repetition). The
// first answer of each group counts, a group without an answer is left out (ErasureHead: Wang,
// Charles, Papailiopoulos, arXiv 1901.09671). O(n log n). Precondition: a tiling form with disjoint
// supports.
Result<ApproximateDecoding> SolveFirstOfEach(const CodeForm& form,
                                             const std::vector<bool>& present);

// One constant for all answers, with mean coverage 1 ("one-step decoding"), for comparison. Zero
// weights if the coefficients present cancel out.
Result<ApproximateDecoding> SolveOneStep(const CodeForm& form, const std::vector<bool>& present);

// The least error by the fastest method that fits: first of each group, components of a graph
// (block_graph.h), or least squares.
Result<ApproximateDecoding> SolveApproximate(const CodeForm& form,
                                             const std::vector<bool>& present);

// The decoding scaled to mean coverage 1. If it was optimal, its error e becomes e / (1 - e).
// Unchanged when nothing is covered.
ApproximateDecoding Unbiased(const CodeForm& form, ApproximateDecoding decoding);

}  // namespace motley
