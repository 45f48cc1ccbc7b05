// SPDX-License-Identifier: Apache-2.0
// Decoding of whatever arrived, with the error that is left. Pure; any thread.
//
// For a set F of answered rows, the coverage of partition j under weights a (zero off F) is
// alpha_j = (a B)_j; exact decoding has alpha = 1 everywhere. The best that F allows is least
// squares,
//   err(F) = min_a (1/k) ||a B - 1||^2
// (Charles, Papailiopoulos, Ellenberg, arXiv 1711.06771: "optimal decoding"), whose coverage is the
// projection of 1 on the row space of B_F; so its mean coverage is 1 - err: the sum comes out too
// small.
//
// Unbiased divides by the mean coverage. Then a step's gradient has the right expectation wherever
// every partition has the same expected coverage: which samples are in which partition was drawn
// without regard to who fails (the job's shuffle), or the answers fail independently with one
// probability and the code's symmetries carry any partition into any other (fractional repetition,
// cyclic). It is not unbiased for fixed data of which one worker that always fails holds the only
// copies.
#pragma once

#include <vector>

#include "base/status.h"
#include "coding/code_form.h"

namespace motley {

struct ApproximateDecoding {
  std::vector<Complex> a;         // n entries, zero on the rows that are not present.
  std::vector<Complex> coverage;  // alpha = a B, k entries.
  double error = 0;               // (1/k) ||a B - 1||^2; 0 is exact, 1 is nothing at all.
  double mean_coverage = 0;       // (1/k) sum_j (a B)_j (its real part).
};

// All of these: kInvalidArgument when `present` has not one flag per row. No answer at all is a
// decoding too, of error 1.

// The least error, for any B; of all such `a` the one of least norm. O(k' n^2) with k' the runs of
// partitions that the same rows hold with the same coefficients; for more than 128 rows by
// iteration, to 1e-12, O(n) times the entries of all runs.
Result<ApproximateDecoding> SolveLeastSquares(const CodeForm& form,
                                              const std::vector<bool>& present);

// The least error where rows are copies of one another or disjoint (fractional repetition): the
// first answer of each group counts, a group without one is left out (ErasureHead: Wang, Charles,
// Papailiopoulos, arXiv 1901.09671). O(n log n). Precondition: a tiling form whose supports are
// disjoint.
Result<ApproximateDecoding> SolveFirstOfEach(const CodeForm& form,
                                             const std::vector<bool>& present);

// One constant for all answers, with mean coverage 1 ("one-step decoding"): for comparison.
// Nothing where the coefficients present cancel out.
Result<ApproximateDecoding> SolveOneStep(const CodeForm& form, const std::vector<bool>& present);

// The least error by the fastest of the ways that fit: first of each group, components of a graph
// (block_graph.h), least squares.
Result<ApproximateDecoding> SolveApproximate(const CodeForm& form,
                                             const std::vector<bool>& present);

// Scaled to mean coverage 1: the error e becomes e / (1 - e) where the decoding was optimal.
// Unchanged when nothing is covered.
ApproximateDecoding Unbiased(const CodeForm& form, ApproximateDecoding decoding);

}  // namespace motley
