// SPDX-License-Identifier: Apache-2.0
// Gradient coding that uses the work of partial stragglers (Ramamoorthy, Meng, Girimaji, NeurIPS
// 2024, arXiv 2405.19509). Pure; any thread.
//
// A fixed public matrix R has one row of `parts` = l entries per worker. Workers keep the gradients
// of finished chunks and report these chunks in a bitmap. For chunk i with finished holders D_i the
// server solves R_{D_i}^T x^{(i,u)} = e_u for every part u, and sends each worker its coefficients.
// Worker j then answers one message, 1/l as long as a gradient,
//   z_j = sum_{i finished by j} sum_u x^{(i,u)}_j g_i[part u],
// and part u of the sum is sum_j R[j,u] z_j. This is exact if every |D_i| >= l. Otherwise least
// squares leave a squared error of max(0, l - |D_i|) for chunk i, in units of a part's mean square.
// Holders with nearly dependent rows count as fewer if rounding would otherwise exceed the limits:
// directions that hardly any of them covers are left out, each at a squared error of 1.
//
// The paper draws R at random. Here rows are points of the trigonometric curve (1, cos t, sin t,
// ...), or (cos t/2, sin t/2, ...) for even l. Any l of them are independent, but neighbours on the
// curve only barely. So workers are spaced evenly in t, each about a golden section after the one
// before, and neighbours in number (mod N) are far apart. With l = 1, R = 1: there is no code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coding/code_form.h"
#include "coding/decode/decoder.h"
#include "coding/placement/chunk_order.h"

namespace motley {

struct PartialCode {
  uint32_t workers = 0;   // N
  uint32_t parts = 0;     // l
  std::vector<double> r;  // R, row-major, workers x parts; rows of length 1.

  double R(WorkerId worker, uint32_t part) const { return r[worker * parts + part]; }
};

// kInvalidArgument unless 1 <= parts <= workers.
Result<PartialCode> MakePartialCode(uint32_t workers, uint32_t parts);

// One worker's weights for one chunk that it finished.
struct PartialEntry {
  PartitionId chunk = 0;
  std::vector<Complex> weights;  // One per part (imaginary parts 0).
};

struct PartialPlan {
  std::vector<std::vector<PartialEntry>> entries;  // Per worker, in the order of its finished list.
  double squared_error = 0;  // sum_i ||R_{D_i}^T X_i - I||_F^2; 0 (to rounding) when exact.
  double amplification = 0;  // max |x|: the growth of one chunk's rounding error.
};

// finished[w] lists the chunks that worker w has finished, out of `chunks`. The coefficients are
// those of least norm: all finished copies share the work, and rounding is least. Amplification
// times float epsilon stays within limits.tolerance, if necessary at the price of squared_error.
// kInvalidArgument when there is not one list per worker, or a list names a chunk twice or one that
// does not exist.
Result<PartialPlan> PlanPartial(const PartialCode& code, uint32_t chunks, const WorkLists& finished,
                                const DecodeLimits& limits = {});

// The squared error of a chunk with these finished holders: 0 (to rounding), or about one or more
// if they are too few or too nearly dependent. `holders` has no duplicates.
double ChunkError(const PartialCode& code, std::span<const WorkerId> holders,
                  const DecodeLimits& limits = {});
// True if ChunkError is 0 (to rounding).
bool SolvesChunk(const PartialCode& code, std::span<const WorkerId> holders,
                 const DecodeLimits& limits = {});

}  // namespace motley
