// SPDX-License-Identifier: Apache-2.0
// Communication-efficient gradient code (Ye and Abbe, ICML 2018, arXiv 1802.03475): messages 1/m as
// long as a gradient, for d = s + m copies of every partition, which is the least possible. Pure;
// any thread.
//
// Gradients are cut into m parts (part_sums.h; the paper's blocks of m coordinates, reordered).
// Worker j answers, for the partitions i that it holds,
//   z_j = sum_i sum_u E[j,i,u] g_i[part u].
// Any placement with d copies will do; this one is the walk of the heterogeneous code
// (cyclic_walk.h), whose loads follow the speeds.
// The paper inverts an (n - s) x (n - s) Vandermonde matrix, which real numbers bear up to n of
// about 20. Here both ends are d x d, whatever n is: with nodes z_j on the complex unit circle
// (coordinates packed in pairs), C[t,j] = z_j^t for t = 0..d-1, and m different powers t_u,
//   C_W E[W,i,u] = e_{t_u}                  for the holders W of group i
//   X C_S = 0,  X[u,t_u'] = delta_{u,u'},   part u of the sum = sum_j (X C)[u,j] z_j
// for the missing workers S. With the t_u at both ends of 0..d-1, X is left with s powers in a row,
// so that any S of s workers can be solved for, and least amplification.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "coding/decoder.h"
#include "coding/gradient_code.h"

namespace motley {

// Partitions of which a worker multiplies each part of the gradient with the same weight.
struct ShortRun {
  PartitionId begin = 0;
  PartitionId end = 0;
  std::vector<Complex> weights;  // E[j,i,u], one per part.
};

struct ShortCode {
  uint32_t workers = 0;     // n
  uint32_t partitions = 0;  // k
  uint32_t stragglers = 0;  // s
  uint32_t parts = 0;       // m
  std::vector<Complex> nodes;
  std::vector<std::vector<ShortRun>> rows;  // Per worker, ascending; nobody needs an empty one.
  double largest = 0;                       // max |E|

  uint32_t copies() const { return stragglers + parts; }  // d
};

// kInvalidArgument unless m >= 1 and s + m <= n <= k.
Result<ShortCode> BuildShortCode(const CodeRequest& request, uint32_t parts);

struct ShortDecoding {
  std::vector<Complex> weights;  // [j * m + u] of message j for part u; 0 where j is missing.
  std::vector<Complex> x;        // X, m x d, row-major: sum_t X[u,t] (sum_j z_j^t message j).
  double residual = 0;           // A bound on max |A E - 1|.
  double amplification = 0;      // max |A| * max |E|
};

// The X of least norm: with fewer than s missing, rounding grows less. kNotDecodable with more than
// s missing or beyond the limits; kInvalidArgument when `present` has not one flag per worker.
Result<ShortDecoding> SolveShort(const ShortCode& code, const std::vector<bool>& present,
                                 const DecodeLimits& limits = {});

// Floats in a message.
size_t ShortLength(const ShortCode& code, size_t gradient_length);
// message += what the worker of `run` sends for a gradient of one of its partitions, or for the sum
// of several of them.
void EncodeShort(const ShortRun& run, std::span<const float> gradient, std::span<float> message,
                 ParallelFor& parallel);
// The sum from one message per worker; empty spans where the worker is missing.
void DecodeShort(const ShortCode& code, const ShortDecoding& decoding,
                 std::span<const std::span<const float>> messages, std::span<float> sum,
                 ParallelFor& parallel);

}  // namespace motley
