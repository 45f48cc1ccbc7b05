// SPDX-License-Identifier: Apache-2.0
// Finds decoding vectors. Pure; any thread.
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
  double residual = 0;       // max |a B - 1|; from SolveClosed a bound on it.
  double amplification = 0;  // ||a||_inf * max|B|: how much rounding of one answer can grow.
};

// What is accepted. The norm guard refuses weights with which rounding could exceed `tolerance` of
// all gradients' norms: 2^-24 times the largest column of |a| |B|. The caller then awaits another.
struct DecodeLimits {
  double residual = 1e-6;
  double tolerance = 1e-5;
  // Answers that a StreamDecoder keeps until it is their turn may take this, or s + 1 vectors where
  // those are more.
  size_t waiting_bytes = size_t{64} << 20;
  // A StreamDecoder keeps every row until the end, n vectors, so that it can give the best sum of
  // whatever came (FinishApproximately).
  bool keep_rows = false;
};

// Least squares on B_F^T a = 1 (complete orthogonal decomposition in double, minimum norm): works
// for any B and any set of rows. kNotDecodable says whether rank or the norm guard is to blame.
// Here and below: kInvalidArgument when `present` has not one flag per row; rows without any
// partition are not missed.
Result<DecodingVector> SolveGeneral(const CodeForm& form, const std::vector<bool>& present,
                                    const DecodeLimits& limits = {});

// C-form: one (s+1) x (s+1) solve, independent of k; with fewer than s missing, the x of least norm
// in the larger null space. Closed product formulas where the code has nodes: O(s^2 + s n).
// Precondition: !form.tiling().
Result<DecodingVector> SolveClosed(const CodeForm& form, const std::vector<bool>& present,
                                   const DecodeLimits& limits = {});

// The method that fits the form: closed; tiling, otherwise general.
Result<DecodingVector> Solve(const CodeForm& form, const std::vector<bool>& present,
                             const DecodeLimits& limits = {});

}  // namespace motley
