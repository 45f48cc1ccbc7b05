// SPDX-License-Identifier: Apache-2.0
// Computes decoding vectors. Pure; any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "coding/code_form.h"

namespace motley {

struct DecodingVector {
  std::vector<Complex> a;  // n entries, zero on the missing rows: a B = (1, ..., 1).
  std::vector<Complex> x;  // Accumulator weights with a = x C; only from SolveClosed.
  // With parts (code_form.h): a is n x parts, x is parts x accumulators, both row-major.
  double residual = 0;       // max |a B - 1|; SolveClosed gives a bound on it.
  double amplification = 0;  // ||a||_inf * max|B|: the growth of one answer's rounding error.
};

// The conditions for decoding. The norm guard refuses weights with which rounding, 2^-24 times the
// largest column of |a| |B|, could exceed `tolerance` of all gradients' norms. The caller then
// waits for another answer.
struct DecodeLimits {
  double residual = 1e-6;
  double tolerance = 1e-5;
  // Answers that a StreamDecoder keeps for later may take this much memory, or s + 1 vectors if
  // that is more.
  size_t waiting_bytes = size_t{64} << 20;
  // A StreamDecoder keeps every row, n vectors, until the end, to compute the best sum of whatever
  // came (FinishApproximately).
  bool keep_rows = false;
};

// Least squares on B_F^T a = 1 (complete orthogonal decomposition in double, minimum norm), for any
// B and any set of rows. kNotDecodable names the reason: rank or norm guard. All functions here
// return kInvalidArgument when `present` does not have one flag per row. Empty rows never count as
// missing.
Result<DecodingVector> SolveGeneral(const CodeForm& form, const std::vector<bool>& present,
                                    const DecodeLimits& limits = {});

// For the C-form: one (s+1) x (s+1) solve, independent of k. With fewer than s missing it takes the
// x of least norm in the larger null space. For codes with nodes it uses closed product formulas:
// O(s^2 + s n). Precondition: !form.tiling().
Result<DecodingVector> SolveClosed(const CodeForm& form, const std::vector<bool>& present,
                                   const DecodeLimits& limits = {});

// Uses the method that fits the form: closed, tiling, or else general.
Result<DecodingVector> Solve(const CodeForm& form, const std::vector<bool>& present,
                             const DecodeLimits& limits = {});

}  // namespace motley
